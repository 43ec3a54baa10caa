"""Reloads, binary upgrades and stops: which active and waiting connections they interrupt, and what helps.

nginx's documentation: https://nginx.org/en/docs/control.html. How its workers exit: ngx_worker_process_cycle() in
src/os/unix/ngx_process_cycle.c.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.reloads_scripts import (
    PAGE,
    RELOADS,
    downloads,
    half_asked,
    idle,
    load,
    queue,
    reload,
    reload_and_wait,
    reload_often,
    stop,
    upgrade,
    websockets,
)
from tuneproof.lab.load.counted import CountedObservation
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario

NAME: Final = "reloads"
BACKEND: Final = Backend(kind=SCRIPTED)
MIGRATE: Final = "net.ipv4.tcp_migrate_req"
WORKERS: Final = 4

_TIMEOUT: Final = "worker_shutdown_timeout 200ms;"
_PAGE: Final = f'location {PAGE} {{ return 200 "ok"; }}'
_FILES: Final = written_config(_PAGE)
_CUTTING: Final = written_config(_PAGE, main=_TIMEOUT)
_PASSED_ON: Final = (
    f"location / {{ proxy_pass http://{BACKEND.upstream}; proxy_http_version 1.1; "
    'proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; }'
)
_WEBSOCKETS: Final = written_config(_PASSED_ON)
_CUTTING_WEBSOCKETS: Final = written_config(_PASSED_ON, main=_TIMEOUT)
_REUSEPORT: Final = written_config(_PAGE, listen="reuseport", workers=str(WORKERS))
# This must not contain spaces, or anything that a shell would expand.
_TWO_WORKERS: Final = "s/^worker_processes/worker_processes\\t2;#/"
_EVERY: Final = range(RELOADS)
_FIRST: Final = range(1)


def _settings(*, migrates: bool) -> list[Setting]:
    """Return the settings, without tcp_migrate_req if the kernel lacks it, since no container could start with it."""
    return [
        Setting(name="kept-under-load", config=_FILES, script=load(reload, keeps=True)),
        Setting(name="new-under-load", config=_FILES, script=load(reload, keeps=False)),
        Setting(name="idle", config=_FILES, script=idle(reload, asked=1)),
        Setting(
            name="idle-min-timeout",
            config=written_config(_PAGE, http="keepalive_min_timeout 60s; # where known"),
            script=idle(reload, asked=1),
        ),
        Setting(name="silent", config=_FILES, script=idle(reload, asked=0)),
        Setting(name="half-asked", config=_FILES, script=half_asked),
        Setting(
            name="half-asked-no-keepalive", config=written_config(f"keepalive_timeout 0; {_PAGE}"), script=half_asked
        ),
        Setting(name="downloads-reload", config=_FILES, script=downloads(reload)),
        Setting(name="downloads-shutdown-timeout", config=_CUTTING, script=downloads(reload_and_wait)),
        Setting(name="downloads-upgrade", config=_FILES, script=downloads(upgrade)),
        Setting(name="downloads-sigterm", config=_FILES, script=downloads(stop("TERM"))),
        Setting(name="downloads-sigquit", config=_FILES, script=downloads(stop("QUIT"))),
        Setting(name="new-under-upgrade", config=_FILES, script=load(upgrade, keeps=False)),
        Setting(name="websockets-reload", config=_WEBSOCKETS, script=websockets(reload)),
        Setting(name="websockets-shutdown-timeout", config=_CUTTING_WEBSOCKETS, script=websockets(reload_and_wait)),
        Setting(name="queue-reuseport", config=_REUSEPORT, script=queue(), workers=WORKERS),
        Setting(
            name="queue-shared", config=written_config(_PAGE, workers=str(WORKERS)), script=queue(), workers=WORKERS
        ),
        Setting(name="queue-fewer-workers", config=_REUSEPORT, script=queue(edit=_TWO_WORKERS), workers=WORKERS),
        Setting(
            name="queue-fewer-workers-migrated",
            config=_REUSEPORT,
            script=queue(edit=_TWO_WORKERS, needs=MIGRATE),
            workers=WORKERS,
            sysctls={MIGRATE: "1"} if migrates else {},
        ),
        Setting(name="reloads-beside-websockets", config=_WEBSOCKETS, script=reload_often(_EVERY)),
        Setting(name="reloads-beside-one-websocket", config=_WEBSOCKETS, script=reload_often(_FIRST)),
        Setting(name="reloads-shutdown-timeout", config=_CUTTING_WEBSOCKETS, script=reload_often(_EVERY, waits=True)),
    ]


def _scenario(run: RunConditions) -> Scenario[CountedObservation]:
    arms = arms_of(_settings(migrates=run.host().sysctls.get(MIGRATE) is not None))
    return Scenario(name=NAME, arms=arms, claims=claims_of(NAME, RELOADS=RELOADS, WORKERS=WORKERS), backends=(BACKEND,))


ADVICE: Final = Advice(scenario=_scenario, headlines=("reload_spares_kept_connections", "sigterm_cuts_downloads"))
