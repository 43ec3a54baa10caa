"""The modules that Debian packages for its nginx, one package each, in the lab's four suites."""

import functools
import posixpath
import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Module:
    """A module that nginx loads from a file."""

    name: str  # such as "http_geoip2"; "ndk_http" is the only one with another file name
    since: str = "1.18"  # the first lab version with a package for it
    directives: str = ""  # a regular expression for its directives; empty if it has none
    needs: str = ""  # the module that must be loaded first
    data: str = ""  # a package with the files that its directives usually name

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}_module.so" if self.name.startswith("ndk") else f"ngx_{self.name}_module.so"

    @property
    def packages(self) -> tuple[str, ...]:
        """The names of its packages."""
        own = "http_ndk" if self.name == "ndk_http" else self.name
        return (f"libnginx-mod-{own.replace('_', '-')}", *([self.data] if self.data else []))


MODULES: Final = (
    Module(name="ndk_http", directives=r"upstream_list"),
    Module(name="stream", directives=r"stream"),
    Module(name="mail", directives=r"mail"),
    Module(name="rtmp", directives=r"rtmp"),
    Module(name="nchan", directives=r"nchan_\w+"),
    Module(name="http_auth_pam", directives=r"auth_pam\w*"),
    Module(name="http_cache_purge", directives=r"(proxy|fastcgi|uwsgi|scgi)_cache_purge"),
    Module(name="http_dav_ext", directives=r"dav_ext_\w+"),
    Module(name="http_echo", directives=r"echo(_\w+)?"),
    Module(name="http_fancyindex", directives=r"fancyindex\w*"),
    Module(name="http_geoip", directives=r"geoip_\w+", data="geoip-database"),
    Module(name="http_geoip2", directives=r"geoip2\w*"),
    Module(name="http_headers_more_filter", directives=r"more_(set|clear)_(input_)?headers"),
    Module(name="http_image_filter", directives=r"image_filter\w*"),
    Module(name="http_lua", directives=r"lua_\w+|\w+_by_lua(_block|_file)?", needs="ndk_http"),
    Module(name="http_perl", directives=r"perl(_\w+)?"),
    Module(name="http_subs_filter", directives=r"subs_filter\w*"),
    Module(name="http_uploadprogress", directives=r"upload_progress\w*|track_uploads|report_uploads"),
    Module(name="http_upstream_fair", directives=r"fair|upstream_fair_\w+"),
    Module(name="http_xslt_filter", directives=r"xslt_\w+|xml_(external_)?entities"),
    Module(name="stream_geoip", directives=r"geoip_\w+", needs="stream", data="geoip-database"),
    Module(name="stream_geoip2", directives=r"geoip2\w*", needs="stream"),
    Module(name="http_brotli_filter", since="1.22", directives=r"brotli(_(?!static)\w+)?"),
    Module(name="http_brotli_static", since="1.22", directives=r"brotli_static"),
    Module(name="http_js", since="1.22", directives=r"js_\w+"),
    Module(name="http_memc", since="1.22", directives=r"memc_\w+"),
    Module(name="http_modsecurity", since="1.22", directives=r"modsecurity\w*"),
    Module(
        name="http_set_misc",
        since="1.22",
        directives=r"set_(md5|sha1|random|rotate|if_empty|hashed_upstream|local_today|secure_random_\w+|formatted_\w+"
        r"|hmac_\w+|(quote|encode|decode|escape|unescape|base32|misc)_\w+)",
        needs="ndk_http",
    ),
    Module(name="http_srcache_filter", since="1.22", directives=r"srcache_\w+", needs="ndk_http"),
    Module(name="stream_js", since="1.22", directives=r"js_\w+", needs="stream"),
    Module(name="http_auth_spnego", since="1.26", directives=r"auth_gss\w*"),
    Module(name="http_push_stream", since="1.26", directives=r"push_stream_\w+"),
    # Its directives have the names of those in nginx's commercial module, but do something else.
    Module(name="http_auth_jwt", since="1.30"),
    Module(name="http_eval", since="1.30", directives=r"eval(_\w+)?"),
    Module(name="http_hmac_secure_link", since="1.30", directives=r"secure_link_hmac\w*"),
    Module(name="http_zstd_filter", since="1.30", directives=r"zstd(_(?!static)\w+)?"),
    Module(name="http_zstd_static", since="1.30", directives=r"zstd_static\w*"),
)
_BY_NAME: Final = {module.name: module for module in MODULES}
_BY_FILE: Final = {module.file: module for module in MODULES}


def module_in(path: str) -> Module | None:
    """Return the module that a ``load_module`` loads; None if it is not packaged."""
    return _BY_FILE.get(posixpath.basename(path))


@functools.lru_cache(maxsize=4096)
def module_of(directive: str, *, in_stream: bool) -> Module | None:
    """Return the packaged module that a directive comes from; None if nginx's binary or another module has it."""
    for module in MODULES:
        elsewhere = module.name.startswith("http_" if in_stream else "stream_")
        if module.directives and not elsewhere and re.fullmatch(module.directives, directive):
            return module
    return None


def is_packaged(directive: str) -> bool:
    """Tell whether a packaged module has a directive of this name."""
    return any(module_of(directive, in_stream=in_stream) for in_stream in (False, True))


def needed_by(module: Module) -> tuple[Module, ...]:
    """Return a module with the modules that must be loaded before it."""
    return (*needed_by(_BY_NAME[module.needs]), module) if module.needs else (module,)
