"""Trials of the cache loader: nginx fills a cache and exits; the next nginx finds many more files there.

The added files are hard links to pages that nginx has cached, so they have valid headers and are created in a moment.
The loader starts 60000 ms after nginx (ngx_cache_loader_ctx in src/os/unix/ngx_process_cycle.c). The
second nginx is a copy of the first with another delay; the original number occurs only once in the binary.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.cache_updates_scripts import upstream_requests
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow

CACHE: Final = "/var/lib/subject/cache"
FILES: Final = 100_000
# More files than keys_zone=…:32k has room for, and more bytes than max_size=1m.
SURPLUS: Final = 2_000
# The number of files that the loader reads before it sleeps, and the number of all files.
FIRST_FILES: Final = 4_000
_OF_FILES: Final = 20_000
PAGES: Final = 50
_FEW: Final = 50
_SOON_MS: Final = 1_000
_USUAL_MS: Final = 60_000
# The cache manager checks the size every ten seconds (ngx_http_file_cache_manager in src/http/ngx_http_file_cache.c).
_LOOKED_S: Final = 11.0
_ASKING: Final = Flow(requests=PAGES, path="/page-{n}")
# The lab's own build is in a different place from the distribution's, and takes its folders from -p.
_SECOND_NGINX: Final = r"""
my ($files, $usual_ms, $delay_ms) = @ARGV;
my $state = "/var/lib/subject";
open my $pid, "<", "$state/nginx.pid" or die "nginx.pid: $!";
kill "QUIT", <$pid>;
select undef, undef, undef, 0.01 while -e "$state/nginx.pid";
my @pages = glob "$state/cache/*";
link $pages[$_ % @pages], sprintf "%s/cache/%032x", $state, $_ or die "link: $!" for 1 .. $files;
my ($binary) = grep { -e } "/usr/lib/tuneproof/nginx", "/usr/sbin/nginx";
open my $from, "<:raw", $binary or die "$binary: $!";
my $code = do { local $/; <$from> };
my $number = pack "Q<", $usual_ms;
my $found = () = $code =~ /\Q$number\E/g;
die "$binary has the number $usual_ms $found times\n" if $found != 1;
substr $code, index($code, $number), length $number, pack "Q<", $delay_ms;
open my $to, ">:raw", "$state/second" or die "second: $!";
print $to $code;
close $to;
chmod 0755, "$state/second";
exit 1 if system "$state/second -p /usr/share/nginx/ -c $state/nginx.conf >/dev/null 2>&1";
"""
# Prints where the loader waits in the kernel, and its CPU time in ns; nothing if there is no loader (proc(5)). A
# trial runs this repeatedly, as a new process each time, so the script pauses first.
_LOADER: Final = r"""
select undef, undef, undef, 0.2;
for my $folder (glob "/proc/[0-9]*") {
    my @texts = map { open my $file, "<", "$folder/$_" or next; <$file> // "" } qw(cmdline wchan schedstat);
    next unless $texts[0] =~ /^nginx: cache loader/;
    print $texts[1] || "-", " ", $texts[2] =~ /^(\d+)/;
}
"""
_NS_PER_S: Final = 1e9

Script = Callable[[Rig], Figures]


def _restarted(rig: Rig, files: int, *, delay_ms: int = _SOON_MS) -> int:
    """Let nginx cache pages, exit, and start again with this many further files; return the number of all files."""
    rig.ok(rig.flow(_ASKING), requests=PAGES)
    rig.must(upstream_requests(rig, PAGES) == PAGES, "not all pages came from the upstream")
    rig.run("perl", "-e", _SECOND_NGINX, str(files), str(_USUAL_MS), str(delay_ms))
    rig.settle(1)
    return PAGES + files


def _files(rig: Rig) -> int:
    return int(rig.run("sh", "-c", f"ls -U {CACHE} | wc -l"))


def _until_loader_sleeps(rig: Rig) -> float:
    """Wait until the loader sleeps after its first files; return its CPU time in seconds."""
    seen: list[str] = []

    def sleeps() -> bool:
        nonlocal seen
        seen = rig.run("perl", "-e", _LOADER).split()
        # Before it begins to read, the loader waits for events.
        return bool(seen) and "nanosleep" in seen[0]

    rig.wait_until(sleeps, "did not get its cache loader to sleep")
    return float(seen[1]) / _NS_PER_S


def _until_loader_is_gone(rig: Rig) -> None:
    rig.wait_until(lambda: not rig.run("perl", "-e", _LOADER), "did not finish loading its cache")


def loaded(files: int, *, clients_ask: bool) -> Script:
    """Return the script that compares the workers' CPU time, since their start, with the loader's.

    clients_ask: whether clients request all pages ten times before the CPU times are read.
    """

    def script(rig: Rig) -> Figures:
        _restarted(rig, files - PAGES)
        if clients_ask:
            for _ in range(10):
                rig.ok(rig.flow(_ASKING), requests=PAGES)
        loader_s = _until_loader_sleeps(rig)
        workers_s = sum(worker.run_s for worker in rig.workers())
        return {"workers_share": workers_s / (workers_s + loader_s), "loader_ms": 1000 * loader_s}

    return script


def all_files(rig: Rig) -> Figures:
    """Let the loader read all files at once."""
    return loaded(FILES, clients_ask=False)(rig)


def few_files(rig: Rig) -> Figures:
    """Let the loader read only the cached pages, which clients request repeatedly."""
    return loaded(_FEW, clients_ask=True)(rig)


def unread(rig: Rig) -> Figures:
    """Request all pages when the loader has read a fifth of the files; return the share that nginx fetches again."""
    _restarted(rig, _OF_FILES - PAGES)
    _until_loader_sleeps(rig)
    rig.ok(rig.flow(_ASKING), requests=PAGES)
    return {"fetched_again_share": (upstream_requests(rig, 2 * PAGES) - PAGES) / PAGES}


def beyond_the_zone(rig: Rig) -> Figures:
    """Return the share of files that are left when the loader has finished."""
    before = _restarted(rig, SURPLUS)
    _until_loader_is_gone(rig)
    return {"left_share": _files(rig) / before}


def too_large(*, loads: bool) -> Script:
    """Return the script that counts the files that are left after the cache manager has checked the cache's size.

    loads: whether the loader has read the files before.
    """

    def script(rig: Rig) -> Figures:
        before = _restarted(rig, SURPLUS, delay_ms=_SOON_MS if loads else _USUAL_MS)
        with rig.before(_USUAL_MS / 1000, "the cache loader starts"):
            if loads:
                _until_loader_is_gone(rig)
            rig.wait(_LOOKED_S)
        return {"left_share": _files(rig) / before}

    return script
