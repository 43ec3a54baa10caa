"""Programs and people that print lines of nginx's log, and what each of them makes of a line."""

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
    "nginx": lambda line: line,
}
