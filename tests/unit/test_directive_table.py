"""The table of directives is read from C: names, contexts, arguments, inheritance, defaults, and their versions."""

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT
from tools.directives.__main__ import main as generate
from tools.directives.written import written

# An invented module in nginx's style: the parts that change between versions are in braces.
_MODULE: Final = (CHECKOUT / "tests/tables/ngx_http_cars_module.c").read_text(encoding="utf-8")
_BLOCK: Final = """
    { ngx_string("car_park"),
      NGX_MAIN_CONF|NGX_CONF_BLOCK|NGX_CONF_NOARGS,
      ngx_http_cars_park,
      0,
      0,
      NULL },
"""


def commit(repository: Path, files: dict[str, str], tag: str) -> None:
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text, encoding="utf-8")
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", tag), ("tag", tag)):
        subprocess.run(["git", *words], cwd=repository, env={**os.environ, **identity}, check=True)


def module(*, wait: str, more: str = "") -> dict[str, str]:
    return {"src/http/modules/ngx_http_cars_module.c": _MODULE.replace("{wait}", wait).replace("{more}", more)}


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    nginx, documentation = tmp_path / "nginx", tmp_path / "documentation"
    nginx.mkdir()
    documentation.mkdir()
    commit(nginx, module(wait="NGX_CARS_WAIT"), "release-1.18.0")
    commit(nginx, module(wait="NGX_CARS_WAIT", more=_BLOCK), "release-1.19.10")
    commit(nginx, module(wait="2 * 30000"), "release-1.20.0")
    page = '<directive name="car_sell">\n<directive name="car_wait">\n<tag-name id="var_car_price">\n'
    commit(documentation, {"xml/en/docs/http/cars.xml": page, "xml/en/docs/stream/a.xml": 'id="var_sea"\n'}, "any")
    output = tmp_path / "table.tsv"
    assert generate([str(nginx), str(documentation), "--output", str(output)]) == 0
    names = (tmp_path / "variables.tsv").read_text(encoding="utf-8").splitlines()
    assert names == ["http\tcar_name", "http\tcar_price", "http\tcar_speed", "stream\tsea"]
    return output.read_text(encoding="utf-8").splitlines()


def test_each_row_covers_the_versions_without_a_change(table: list[str]) -> None:
    """Every preprocessor branch is read, but not comments; the last row has a name from the documentation only."""
    assert table[0] == "1.20.0"
    assert [line.split("\t") for line in table[2:]] == [
        ["car_doors", "ngx_http_cars_module", "http,location", "1-", "", "replaced", "left right", "", ""],
        ["car_gear", "ngx_http_cars_module", "server,location", "1,3", "once", "inherited", "high", "", ""],
        ["car_park", "ngx_http_cars_module", "main", "0", "block", "never", "", "1.19.10", "1.20.0"],
        ["car_tow", "ngx_http_cars_module", "location", "1", "flag", "inherited", "off", "", ""],
        ["car_wait", "ngx_http_cars_module", "http,server,location", "1", "msec", "inherited", "30s", "", "1.20.0"],
        ["car_wait", "ngx_http_cars_module", "http,server,location", "1", "msec", "inherited", "60s", "1.20.0", ""],
        ["car_sell"],
    ]


def test_a_directive_with_unknown_inheritance_stops_the_generator(tmp_path: Path) -> None:
    entry = _BLOCK.replace("NGX_MAIN_CONF|NGX_CONF_BLOCK", "NGX_HTTP_MAIN_CONF|NGX_HTTP_LOC_CONF")
    commit(tmp_path, module(wait="1", more=entry), "release-1.18.0")
    with pytest.raises(ValueError, match="how car_park in ngx_http_cars_module is inherited"):
        generate([str(tmp_path), str(tmp_path)])


@pytest.mark.parametrize(
    ("kind", "default", "text"),
    [
        ("msec", ["75000"], "75s"),
        ("msec", ["500"], "500ms"),
        ("msec", ["3600000"], "1h"),
        ("sec", ["300"], "5m"),
        ("sec", ["60"], "60s"),
        ("msec", ["0"], "0"),
        ("size", ["(size_t) ngx_pagesize"], "4k"),
        ("size", ["2 * 1024 * 1024"], "2m"),
        ("size", ["1460"], "1460"),
        ("size", ["NGX_CONF_UNSET_SIZE"], None),
        ("off", ["64 * sizeof(void *)"], "512"),
        ("bufs", ["(128 * 1024) / ngx_pagesize", "ngx_pagesize"], "32 4k"),
        ("num", ["NGX_MAX_INT32_VALUE"], None),
        ("flag", ["1"], "on"),
        ("flag", ["NGX_CONF_UNSET"], None),
        ("str", ['"text/plain"'], "text/plain"),
        ("str", ['""'], None),
        ("ptr", ["NULL"], None),
        ("enum", ["7"], None),
    ],
)
def test_a_default_has_the_syntax_of_nginx_conf(kind: str, default: list[str], text: str | None) -> None:
    """An expression without a known value gives no default."""
    assert written(kind, default, words=[("low", "1")], defines={"NGX_MAX_INT32_VALUE": "0x7fffffff"}) == text
