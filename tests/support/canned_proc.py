"""Files of /proc about a process."""

STATUS = """\
Name:\tnginx
Umask:\t0022
State:\tS (sleeping)
Tgid:\t2081
Pid:\t2081
PPid:\t2065
Groups:\t 
VmPeak:\t  150600 kB
VmSize:\t  145060 kB
VmHWM:\t    91708 kB
VmRSS:\t    81708 kB
RssAnon:\t   70112 kB
RssFile:\t   11580 kB
RssShmem:\t      16 kB
VmSwap:\t       0 kB
Threads:\t1
Cpus_allowed_list:\t0-1
voluntary_ctxt_switches:\t1500
nonvoluntary_ctxt_switches:\t38
"""  # noqa: W291 - this is what the kernel prints
KERNEL_THREAD = "Name:\tksoftirqd/0\nState:\tS (sleeping)\nPid:\t16\nThreads:\t1\n"
SCHEDSTAT = "38261109 6899127 96\n"
