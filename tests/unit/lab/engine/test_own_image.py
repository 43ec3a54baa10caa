"""The version and the path of the main configuration file, from the output of ``nginx -V``."""

import pytest

from tuneproof.lab.engine.own_image import OwnImage


@pytest.mark.parametrize(
    ("text", "version", "main"),
    [
        (
            "nginx version: nginx/1.27.3\nconfigure arguments: --prefix=/etc/nginx --conf-path=/etc/nginx/nginx.conf\n",
            "1.27.3",
            "/etc/nginx/nginx.conf",
        ),
        (
            "nginx version: openresty/1.25.3.1\nconfigure arguments: --prefix=/usr/local/openresty/nginx --with-cc\n",
            "1.25.3",
            "/usr/local/openresty/nginx/conf/nginx.conf",
        ),
        (
            "Angie version: Angie/1.8.1\nnginx version: nginx/1.27.2\nconfigure arguments: --conf-path=/etc/angie.conf",
            "1.27.2",
            "/etc/angie.conf",
        ),
        ("nginx version: nginx/1.22.1\n", "1.22.1", "/usr/local/nginx/conf/nginx.conf"),
    ],
)
def test_the_version_and_the_configurations_path_are_read(text: str, version: str, main: str) -> None:
    assert OwnImage.from_text(text) == OwnImage(version=version, main=main)


def test_without_nginx_there_are_no_facts() -> None:
    assert OwnImage.from_text("sh: 1: nginx: not found") is None
