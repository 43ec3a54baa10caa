"""The start of a file of each kind, except for access logs."""

from tuneproof.explain.detect import Kind

SAMPLES = {
    Kind.ERROR_LOG: "2026/11/22 14:50:00 [error] 29#29: *1 connect() failed\n",
    Kind.CAPTURE: "\x0a\x0d\x0d\x0a",
    Kind.EVENT_LOOPS: '{"event_loop_recording": 1, "began": "2026-11-23T17:00:00+00:00"}\n',
    Kind.NSTAT_JSON: '{"kernel":{"IpInReceives":1128,"TcpExtListenOverflows":3}}\n',
    Kind.WRK2: (
        "Running 10s test @ http://10.0.0.1/\n  2 threads and 10 connections\n"
        "  Thread calibration: mean lat.: 1.2ms, rate sampling interval: 10ms\n"
    ),
    Kind.WRK: "Running 10s test @ http://10.0.0.1/\n  2 threads and 10 connections\n  Thread Stats   Avg\n",
    Kind.H2LOAD: "starting benchmark...\nspawning thread #0: 10 total client(s). 100 total requests\n",
    Kind.AB: "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\nBenchmarking 10.0.0.1 (be patient)\n",
    Kind.PIDSTAT: (
        "Linux 6.1.0 (host) \t11/20/2026 \t_x86_64_\t(2 CPU)\n\n"
        "06:13:22 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
        "06:13:27 PM    33        31    1.00    2.00    0.00    3.00    3.00     0  nginx\n"
    ),
    Kind.TOP: (
        "top - 06:13:22 up 3 days,  1:02,  1 user,  load average: 1.02, 0.80, 0.31\n"
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
        "     31 www-data  20   0  141044  21788   8120 R  99.7   0.1  33:11.02 nginx\n"
    ),
    Kind.PROCESS_STATUS: "Name:\tnginx\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t31\nPid:\t31\n",
    Kind.PROC_NET: "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 12\n",
    Kind.NETSTAT_S: "Ip:\n    Forwarding: 1\n    1128 total packets received\nTcp:\n    3 active connection openings\n",
    Kind.NSTAT: "#kernel\nIpInReceives                    1128               0.0\n",
    Kind.SOFTNET: f"{' '.join(['0000a1b2'] * 15)}\n{' '.join(['00000000'] * 15)}\n",
    Kind.SS: "State    Recv-Q   Send-Q  Local Address:Port   Peer Address:Port  Process\nLISTEN 0 511 *:80 *:*\n",
    Kind.NETSTAT: (
        "Active Internet connections (servers and established)\n"
        "Proto Recv-Q Send-Q Local Address           Foreign Address         State\n"
        "tcp        0      0 0.0.0.0:80              0.0.0.0:*               LISTEN\n"
    ),
    Kind.MACHINE_CPU: (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        " 1  0      0 165533 271908 654614    0    0   654  2145 1431 3410  9  7 84  0  0\n"
    ),
    Kind.DF: "Filesystem      Size  Used Avail Use% Mounted on\n/dev/vda1        20G   20G     0 100% /\n",
    Kind.INTERFACES: (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000\n"
        "    link/ether 52:54:00:12:34:56 brd ff:ff:ff:ff:ff:ff\n"
        "    RX:  bytes packets errors dropped  missed   mcast\n"
        "     123456789    9900    100     500     300      12\n"
        "    TX:  bytes packets errors dropped carrier collsns\n"
        "      98765432    9950     50       0       0       0\n"
    ),
    Kind.MTR: (
        "Start: 2026-11-26T10:00:00+0000\n"
        "HOST: web                         Loss%   Snt   Last   Avg  Best  Wrst StDev\n"
        "  1.|-- 10.0.0.1                  60.0%   100    0.3   0.3   0.2   0.4   0.1\n"
        "  2.|-- ???                       100.0   100    0.0   0.0   0.0   0.0   0.0\n"
        "  3.|-- app.example               10.0%   100    9.1   9.3   9.0  10.4   0.1\n"
    ),
    Kind.NGINX_CONF: "# the front\nworker_processes 2;\nevents { worker_connections 1024; }\nhttp {\n}\n",
    Kind.SCHEDSTAT: "2162830 103450 12\n",
}
