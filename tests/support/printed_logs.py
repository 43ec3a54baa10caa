"""Lines of nginx's logs as other programs and people print them."""

import html
import json
from collections.abc import Callable
from typing import Final

PRINTED: Final[dict[str, Callable[[str], str]]] = {
    "journalctl": lambda line: f"Nov 26 09:00:01 web-1 nginx[812]: {line}",
    "journalctl of an older systemd": lambda line: f"Nov  6 09:00:01 web-1.example nginx[812]: {line}",
    "journalctl -o short-iso": lambda line: f"2026-11-26T09:00:01+0000 web-1 nginx[812]: {line}",
    "journalctl -o short-precise": lambda line: f"Nov 26 09:00:01.123456 web-1 nginx[812]: {line}",
    "journalctl -o json": lambda line: json.dumps({"MESSAGE": line, "_PID": "12", "PRIORITY": "6"}),
    "journalctl -o json, bytes": lambda line: json.dumps({"MESSAGE": list(line.encode()), "_PID": "12"}),
    "docker logs -t": lambda line: f"2026-11-26T09:00:01.123456789Z {line}",
    "Docker's json-file": lambda line: json.dumps(
        {"log": f"{line}\n", "stream": "stderr", "time": "2026-11-26T09:00:01Z"}
    ),
    "docker compose logs": lambda line: f"web-1  | {line}",
    "docker compose logs -t": lambda line: f"web-1  | 2026-11-26T09:00:01.123456789Z {line}",
    "CRI": lambda line: f"2026-11-26T09:00:01.123456789+00:00 stderr F {line}",
    "kubectl logs --timestamps": lambda line: f"2026-11-26T09:00:01.123456789Z {line}",
    "kubectl logs --prefix": lambda line: f"[pod/web-5c9d/nginx] {line}",
    "nginx's syslog": lambda line: f"<187>Nov 26 09:00:01 web-1 nginx: {line}",
    "syslog, RFC 5424": lambda line: f"<187>1 2026-11-26T09:00:01.1Z web-1 nginx 812 - - {line}",
    "colours": lambda line: f"\x1b[31m{line}\x1b[0m",
    "grep -n": lambda line: f"/var/log/nginx/error.log:17:{line}",
    "grep of a rotated log": lambda line: f"error.log.1:{line}",
    "systemctl status": lambda line: f"     Nov 26 09:00:01 web-1 nginx[812]: {line}",
    "a quotation": lambda line: f"> {line}",
    "cat -n": lambda line: f"  9063\t{line}",
    "a provider's console": lambda line: f"2026-11-26 09:00:01 | stdout | {line}",
    "journalctl -o short-full": lambda line: f"Thu 2026-11-26 09:00:01 UTC web-1 nginx[812]: {line}",
    "journalctl -o short-monotonic": lambda line: f"[ 1234.567890] web-1 nginx[812]: {line}",
    "journalctl -o export": lambda line: f"MESSAGE={line}",
    "journalctl -o verbose": lambda line: f"    MESSAGE={line}",
    "rsyslog without a colon": lambda line: f"2026-11-26T09:00:01.123456+01:00 web-1 nginx {line}",
    "Grafana's CSV": lambda line: f'"1764147601000",{_csv(line)},"{{app=""nginx""}}","1764147601000000000"',
    "Grafana's text": lambda line: f"2026-11-26T09:00:01.000Z\t{line}",
    "CloudWatch's CSV": lambda line: f"1764147601000,{_csv(line)}",
    "Kibana's CSV": lambda line: f'"Nov 26, 2026 @ 09:00:01.000",{_csv(line)}',
    "logcli": lambda line: f'2026-11-26T09:00:01Z {{app="nginx", instance="10.0.0.5:80"}} {line}',
    "aws logs tail": lambda line: f"2026-11-26T09:00:01.123000+00:00 web/nginx/0123456789abcdef {line}",
    "a cloud's JSON in several lines": lambda line: f'            "message": {json.dumps(line)},',
    "a search in Elasticsearch": lambda line: json.dumps({"_index": "a", "_source": {"message": line}}),
    "Datadog": lambda line: json.dumps({"id": "a", "content": {"message": line}}),
    "Google Cloud": lambda line: json.dumps({"severity": "ERROR", "textPayload": line}),
    "Azure's ContainerLogV2": lambda line: json.dumps({"PodName": "web", "LogMessage": line}),
    "Azure's console log": lambda line: json.dumps({"RevisionName_s": "web", "Log_s": line}),
    "Azure's App Service": lambda line: json.dumps({"Level": "Error", "ResultDescription": line}),
    "Azure's ContainerLog": lambda line: json.dumps({"LogEntrySource": "stderr", "LogEntry": line}),
    "Fluentd": lambda line: f"2026-11-26 09:00:01.0 +0000 kubernetes.web: {json.dumps({'log': line + chr(10)})}",
    "Heroku": lambda line: f"2026-11-26T09:00:01.000000+00:00 app[web.1]: {line}",
    "stern": lambda line: f"web-5c9d-abcde nginx {line}",
    "zgrep of a rotated and compressed log": lambda line: f"/var/log/nginx/error.log.2.gz:{line}",
    "grep of a panel's log": lambda line: f"/var/www/vhosts/system/shop/logs/proxy_error_log:{line}",
    "a web page's source": html.escape,
    "a blog": lambda line: line.replace(' "', " \u201c").replace('"', "\u201d"),
    "nginx": lambda line: line,
}


def _csv(line: str) -> str:
    doubled = line.replace('"', '""')
    return f'"{doubled}"'
