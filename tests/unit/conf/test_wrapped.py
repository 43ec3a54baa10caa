"""A configuration inside another format is rejected: the text before it would be read as a directive."""

import pytest

from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import read_configuration
from tuneproof.errors import BadInputError

CONFIGURATION = "worker_processes 4;\nevents { }\nhttp {\n    server { listen 80; }\n}\n"


def indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"kind: ConfigMap\ndata:\n  nginx.conf: |\n{indented(CONFIGURATION, '    ')}", "YAML"),
        (f"data:\n  default.conf.template: |-\n{indented(CONFIGURATION, '    ')}", "YAML"),
        (f"My configuration:\n\n```nginx\n{CONFIGURATION}```\n", "Markdown"),
        (f"diff --git a/n.conf b/n.conf\n@@ -0,0 +1,5 @@\n{indented(CONFIGURATION, '+')}", "a patch"),
        (indented(CONFIGURATION, "+"), "a patch"),
        ("".join(f"{number:6}\t{line}\n" for number, line in enumerate(CONFIGURATION.splitlines(), 1)), "line numbers"),
        (indented(CONFIGURATION, "web-1  | "), "a log of Docker Compose"),
        ('nginx: [emerg] unknown directive "a"\nnginx: configuration file a test failed\n', "nginx's messages"),
        (f"$ cat /etc/nginx/nginx.conf\n{CONFIGURATION}", "a terminal transcript"),
        (f"root@web-1:/etc/nginx# cat nginx.conf\n{CONFIGURATION}", "a terminal transcript"),
        (f"[root@web ~]# docker exec web cat /etc/nginx/nginx.conf\n{CONFIGURATION}", "a terminal transcript"),
    ],
)
def test_a_configuration_inside_another_format_is_rejected(text: str, what: str) -> None:
    with pytest.raises(BadInputError, match=what):
        read_configuration(Dump({"pasted": text}, is_complete=False))


@pytest.mark.parametrize(
    "text",
    [
        CONFIGURATION,
        f"# cat /etc/nginx/nginx.conf\n{CONFIGURATION}",
        f"# ```nginx\n{CONFIGURATION}# ```\n",
        "map $uri $a {\n1 a;\n2 b;\n3 c;\n}\n",
        "404 a;\n410 b;\n500 c;\n",
        "server {\n    location / { return 200 'nginx.conf: |'; }\n}\n",
    ],
)
def test_a_configuration_without_other_text_is_read(text: str) -> None:
    assert read_configuration(Dump({"pasted": text}, is_complete=False)).problems == ()
