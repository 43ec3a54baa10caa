"""Files in /proc about nginx's workers, as an observer returns them."""

from tuneproof.lab.protocol.observer import ProcessTexts

# The kernel prints these lines, among others.
STATUS = """\
Name:\tnginx
State:\tS (sleeping)
Pid:\t{pid}
VmRSS:\t       4 kB
RssAnon:\t       1 kB
voluntary_ctxt_switches:\t17
nonvoluntary_ctxt_switches:\t3
"""
SCHEDSTAT = "1500000000 250000000 20\n"
IO = "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"


def texts(
    pid: int, *, title: str = "nginx: worker process", status: str = STATUS, schedstat: str = SCHEDSTAT, io: str = IO
) -> ProcessTexts:
    return ProcessTexts(pid=pid, title=title, status=status.format(pid=pid), schedstat=schedstat, io=io)
