"""Reports of pidstat."""

CPU = """\
Linux 5.15.0-76-generic (web-1) \t07/29/23 \t_x86_64_\t(8 CPU)

09:22:19 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
09:22:20 PM    33      2093   20.00   11.00    0.00    4.95   31.00     1  nginx
09:22:20 PM   113      4606    1.00    0.00    0.00    0.00    1.00     0  beam.smp

09:22:20 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
09:22:21 PM    33      2093   40.00   11.00    0.00   14.95   51.00     1  nginx

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:       33      2093   30.00   11.00    0.00    9.95   41.00     -  nginx
"""
ONE_LINE = """\
# Time        UID       PID    %usr    %CPU   CPU  minflt/s  majflt/s     VSZ     RSS   %MEM   kB_rd/s   kB_wr/s kB_ccwr/s iodelay   cswch/s nvcswch/s  Command
1650053639     33     69554    1.00    7.00     3      2.00      0.00 3584124  522684   6.57     -1.00      0.00      0.00       9     12.00      3.00  nginx: worker process is shutting down
"""  # noqa: E501 - recorded lines stay whole
THREADS = """\
03:06:00      UID      TGID       TID    %usr    %CPU   CPU  Command
03:06:01        0      1207         -   20.00   20.00     0  java
03:06:01        0         -     17329   20.00   20.00     0  |__Reference Handl
"""
