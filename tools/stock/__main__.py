"""``python -m tools.stock``: run the lab on a stock Debian in QEMU, and compare its verdicts with other results.

The system disk is made from packages: Debian's own kernel, systemd, Docker and AppArmor, with the Python packages of
requirements.lock and this host's lab images. It is kept in ~/.cache/tuneproof, in a folder with a hash of what it is
made from; the machine writes to a copy. A second disk has the current checkout, and a third returns ``results/``. The
machine has no network.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tuneproof.cli.output import say, show
from tuneproof.errors import CannotRunHereError, TuneproofError
from tuneproof.lab.engine import commands
from tuneproof.lab.engine.base import ensure_base, package_mirror
from tuneproof.lab.engine.labels import base_image
from tuneproof.lab.engine.packages import apt_install
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.subject.images import ROLES_SUITE
from tuneproof.lab.subject.versions import DEFAULT_VERSION
from tuneproof.report.results.comparing import compare
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.comparison_text import render_comparison

ROOT: Final = Path(__file__).parents[2]
JOB: Final = Path(__file__).with_name("job.sh")
PYTHONS: Final = {"bookworm": "3.11", "trixie": "3.13", "forky": "3.14"}
"""The Debian suites for the machine, each with its Python."""
PACKAGES: Final = (
    "apparmor",
    "ca-certificates",
    "dbus",
    "docker.io",
    "iproute2",
    "iptables",
    "kmod",
    "linux-image-cloud-amd64",
    "procps",
    "python3",
    "systemd-sysv",
    "udev",
)
UNIT: Final = """\
[Unit]
Wants=docker.service
After=docker.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
Environment=HOME=/root
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStart=tar -x -f /dev/vdb -C /root
ExecStart=sh /root/job
[Install]
WantedBy=multi-user.target
"""
CHECKOUT: Final = "/root/tuneproof"
KERNEL_ARGUMENTS: Final = "root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=0 systemd.getty_auto=0"
EMULATED: Final = "mitigations=off"
"""An emulated CPU does not speculate, so mitigations would only cost time."""
BRINGS_RESULTS: Final = f"""\
mkdir -p {CHECKOUT}/results
# Output goes through a pipe, since nobody is at this terminal. After an interrupt, a run keeps what it has decided.
{{
    timeout --signal INT "$LIMIT_S" sh /root/task
    echo $? >{CHECKOUT}/results/status
}} 2>&1 | cat
tar -c -f /dev/vdc -C {CHECKOUT}/results .
"""
CPUS: Final = 2
MEMORY_MIB: Final = 6144
DISK_GIB: Final = 16
OUTPUT_GIB: Final = 4
IMAGE_S: Final = 600
"""Longer than any call to the engine while it imports the base image."""
BOOT_S: Final = 600
"""Longer than it takes to boot, to end a run and to return its results, on emulated CPUs that also do other work."""
KVM_TRIAL_S: Final = 20
"""A kernel without a root file system panics within two seconds; a guest that hangs in its firmware does not."""


def main(arguments: Sequence[str]) -> int:
    """Create the disk if missing, boot it, fetch the results; return the job's status, or an error's."""
    parser = argparse.ArgumentParser(prog="python -m tools.stock", description=__doc__)
    parser.add_argument("--suite", choices=PYTHONS, default="bookworm", help="Debian suite (default: bookworm)")
    parser.add_argument(
        "--nginx", action="append", default=[], metavar="VERSION", help="version of nginx to have on the disk"
    )
    parser.add_argument("--package", action="append", default=[], metavar="NAME", help="a further package for the disk")
    parser.add_argument("--append", default="", metavar="ARGUMENTS", help="kernel arguments, such as apparmor=0")
    parser.add_argument("--job", type=Path, default=JOB, metavar="FILE", help="shell script to run in the machine")
    parser.add_argument("--minutes", type=float, default=25, help="time limit for the job (default: 25)")
    parser.add_argument(
        "--beside", type=Path, metavar="RESULTS", help="results to compare with (default: latest, or docs/results.json)"
    )
    parser.add_argument("run", nargs="*", metavar="ARGUMENT", help="arguments for `./lab run` there, after --")
    options = parser.parse_args(arguments)
    latest = ROOT / "results" / "latest"
    beside = options.beside or (latest if latest.exists() else ROOT / "docs" / "results.json")
    try:
        needs = {"mmdebstrap": "mmdebstrap", "qemu-system-x86_64": "qemu-system-x86", "mke2fs": "e2fsprogs"}
        if missing := [package for program, package in needs.items() if commands.find(program) is None]:
            apt_install(*missing, why="the machine's disk is made from packages, and QEMU starts it")
        machine = disk_of(options.suite, nginx=options.nginx or [DEFAULT_VERSION], more=options.package)
        versions = [word for version in options.nginx for word in ("--nginx", version)]
        arguments = shlex.join([*versions, *options.run])
        job = f"cd {CHECKOUT}\nset -- {arguments}\n{options.job.read_text(encoding='utf-8')}"
        folder = ROOT / "results" / f"stock-{options.suite}"
        status = run_in(machine, job, folder, append=options.append, limit_s=round(60 * options.minutes))
        if (folder / "latest").exists():
            beside_here = compare(load(beside.resolve()), load(folder / "latest"))
            # Claims that did not run there do not count as different.
            show(render_comparison(replace(beside_here, only_old=()), width=None, color=False).removesuffix("\n"))
    except TuneproofError as error:
        say(str(error))
        return error.exit_status
    return status


def disk_of(suite: str, *, nginx: Sequence[str], more: Sequence[str]) -> Path:
    """Return the folder with the disk, the kernel and its initrd; create them unless the cache has them."""
    images = subprocess.run(
        [sys.executable, ROOT / ".ci/tools/images.py", *nginx],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    # The lab's own tests build another image from this one, and the machine has no network.
    images.append(base_image(ROLES_SUITE))
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    packages = sorted({*PACKAGES, *more, *(["docker-cli"] if suite != "bookworm" else [])})
    digest = hashlib.sha256(json.dumps([suite, packages, images, lock, UNIT]).encode()).hexdigest()
    cache = Path.home() / ".cache" / "tuneproof"
    machine = cache / f"stock-{suite}-{digest[:12]}"
    if machine.is_dir():
        return machine
    if os.geteuid() != 0:
        raise CannotRunHereError("only root can make the machine's disk, since root owns its files", remedy="use sudo")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=cache) as folder:
        made = Path(folder) / "machine"
        made.mkdir()
        make_disk(made, Path(folder) / "root", suite=suite, packages=packages)
        say("loading the lab's images into the machine, once")
        with contextlib.closing(connect(timeout_s=IMAGE_S)) as client:
            ensure_base(client, ROLES_SUITE, report=say)
        saved = Path(folder) / "images.tar"
        subprocess.run(["docker", "save", "--output", saved, *images], check=True)
        if run_in(made, "docker load --quiet </dev/vdd", Path(folder) / "loaded", loads=saved):
            raise CannotRunHereError("the lab's images could not be loaded in the machine", remedy="see above")
        made.rename(machine)
    return machine


def make_disk(made: Path, root: Path, *, suite: str, packages: Sequence[str]) -> None:
    """Make a disk from packages, with an environment like that of ``./lab``, and put the kernel next to it."""
    say(f"making the disk with Debian {suite}")
    try:
        mirror = [package_mirror()]
    except CannotRunHereError:  # on systems other than Debian, mmdebstrap knows where the packages are
        mirror = []
    subprocess.run(
        [
            *("mmdebstrap", "--variant=minbase", "--quiet", '--aptopt=Acquire::Check-Valid-Until "false"'),
            *(f"--include={','.join(packages)}", suite, str(root), *mirror),
        ],
        check=True,
    )
    (root / "etc/systemd/system/stock.service").write_text(UNIT, encoding="ascii")
    environment = root / CHECKOUT.removeprefix("/") / ".venv"
    python = PYTHONS[suite]
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").symlink_to("/usr/bin/python3")
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="ascii")
    (environment / "interpreter").write_text(f"/usr/bin/python{python}\n", encoding="ascii")
    shutil.copy(ROOT / "requirements.lock", environment)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
            *("--require-hashes", "--only-binary=:all:", f"--python-version={python}"),
            *(f"--target={environment}/lib/python{python}/site-packages", "-r", ROOT / "requirements.lock"),
        ],
        check=True,
    )
    for command in (
        ["systemctl", "enable", "--quiet", "stock.service"],
        ["python3", "-m", "compileall", "-q", f"{CHECKOUT}/.venv/lib"],
    ):
        subprocess.run(["chroot", root, *command], check=False)
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(next(root.glob(f"boot/{name}-*")), made / name)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", root, made / "disk", f"{DISK_GIB}G"], check=True)


def run_in(
    machine: Path, task: str, folder: Path, *, append: str = "", limit_s: int = 3600, loads: Path | None = None
) -> int:
    """Run a shell script in the machine; copy its results/ to a folder, which is emptied first.

    loads: A fourth disk. If given, the first disk keeps what is written to it, and there is no checkout.
    limit_s: The time limit, after which the script is interrupted.

    Returns the script's status; 124 if it was interrupted.
    Raises CannotRunHereError: The machine did not power off, or left no results.
    """
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as temporary:
        given, brought = Path(temporary) / "given.tar", Path(temporary) / "brought.tar"
        with tarfile.open(given, "w") as archive:
            add_text(archive, "task", task)
            add_text(archive, "job", f"LIMIT_S={limit_s}\n{BRINGS_RESULTS}")
            for path in [] if loads else checkout():
                archive.add(path, f"tuneproof/{path.relative_to(ROOT)}")
        with brought.open("wb") as file:
            file.truncate(OUTPUT_GIB << 30)
        drives = [drive(machine / "disk", "" if loads else ",snapshot=on"), drive(given), drive(brought)]
        boot(machine, [*drives, *([drive(loads)] if loads else [])], append=append, ends_within_s=limit_s + BOOT_S)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            with tarfile.open(brought) as archive:
                archive.extractall(folder, filter="data")
        except tarfile.ReadError as error:
            raise CannotRunHereError("the machine left no results", remedy="see its output above") from error
    return int((folder / "status").read_text(encoding="ascii"))


def checkout() -> list[Path]:
    """Return the paths of the files that git tracks, except deleted ones."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).exists()]


def add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    """Add a file to an archive."""
    member = tarfile.TarInfo(name)
    member.size = len(text.encode())
    archive.addfile(member, io.BytesIO(text.encode()))


def drive(path: Path, more: str = "") -> str:
    """Return a file as an argument for QEMU's -drive. A crash of this host may damage the file (cache=unsafe)."""
    return f"file={path},if=virtio,format=raw,cache=unsafe{more}"


def boot(machine: Path, drives: Sequence[str], *, append: str, ends_within_s: float) -> None:
    """Let the machine run the job on its second disk until it powers off; its console is this program's output."""
    accelerator, more = ("kvm", "") if kvm_works(machine) else ("tcg,thread=multi,tb-size=512", EMULATED)
    say(f"booting {machine.name} with {accelerator}")
    command = [
        *qemu(machine, accelerator, f"{KERNEL_ARGUMENTS} {more} {append}"),
        *("-initrd", str(machine / "initrd.img"), "-serial", "stdio"),
        *(word for each in drives for word in ("-drive", each)),
    ]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=ends_within_s)
    except subprocess.TimeoutExpired as error:
        raise CannotRunHereError(
            f"the machine did not power off within {ends_within_s:.0f} s", remedy="see its output above"
        ) from error


def kvm_works(machine: Path) -> bool:
    """Return whether a kernel boots under KVM and panics for lack of a root file system; /dev/kvm may not work."""
    command = [*qemu(machine, "kvm", "panic=-1"), "-serial", "null"]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=KVM_TRIAL_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def qemu(machine: Path, accelerator: str, kernel_arguments: str) -> list[str]:
    """Return the arguments with which QEMU always starts."""
    return [
        *("qemu-system-x86_64", "-accel", accelerator, "-cpu", "max", "-smp", str(CPUS), "-m", str(MEMORY_MIB)),
        *("-nic", "none", "-display", "none", "-monitor", "none", "-no-reboot"),
        *("-kernel", str(machine / "vmlinuz"), "-append", kernel_arguments),
    ]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
