"""Output of ss."""

# Output of `ss -tanmie` (iproute2 6.1): a listener with a backlog of 2 and a full queue, and some of its connections.
FULL_QUEUE = """\
State    Recv-Q Send-Q      Local Address:Port        Peer Address:Port Process
ESTAB    0      0               127.0.0.1:38880          127.0.0.1:8098  ino:44626718 sk:97df9e cgroup:/ <->
\t skmem:(r0,rb131072,t0,tb4194304,f0,w0,o0,bl0,d0) ts sack bbr wscale:10,10 rto:204 rtt:0.021/0.01 mss:32741 pmtu:65535 rcvmss:536 advmss:65483 cwnd:10 bytes_acked:1 segs_out:2 segs_in:1 bbr:(bw:0bps,mrtt:0.021,pacing_gain:1,cwnd_gain:1) send 124727619048bps lastsnd:828 lastrcv:828 lastack:828 pacing_rate 356452999728bps delivered:1 app_limited reordering:22 rcv_space:65495 rcv_ssthresh:65495 minrtt:0.021 snd_wnd:65483
LISTEN   3      2                       *:8098                   *:*     ino:44626717 sk:97dfa1 cgroup:/ v6only:0 <->
\t skmem:(r0,rb131072,t0,tb16384,f0,w0,o0,bl0,d1) bbr cwnd:10 unacked:3
ESTAB    0      0      [::ffff:127.0.0.1]:8098  [::ffff:127.0.0.1]:38888 ino:0 sk:97dfa2 cgroup:/ <->
\t skmem:(r0,rb131072,t0,tb4194304,f0,w0,o0,bl0,d0) ts sack bbr wscale:10,10 rto:204 rtt:0.005/0.002 mss:32768 cwnd:10 segs_in:2 rcv_space:65483 minrtt:0.005
SYN-SENT 0      1                   [::1]:47438              [::1]:8098  timer:(on,168ms,0) ino:44626721 sk:97dfa4 cgroup:/ <->
\t skmem:(r0,rb131072,t0,tb16384,f3264,w832,o0,bl0,d0) bbr rto:1000 mss:1208 cwnd:10 segs_out:1 lastsnd:34074372 app_limited unacked:1
"""  # noqa: E501 - recorded lines stay whole
# One line per socket, as with -O: a slow reader of a proxy, with retransmissions, and one that has closed its end.
SLOW_READERS = """\
ESTAB 0 2560000 10.0.0.1:80 198.51.100.7:50112 users:(("nginx",pid=31,fd=12),("nginx",pid=32,fd=12)) timer:(persist,2.940ms,3) skmem:(r0,rb131072,t0,tb2626560,f1024,w2598912,o0,bl0,d0) cubic wscale:7,9 rto:236 rtt:35.5/1.25 cwnd:40 ssthresh:30 bytes_sent:9000000 send 12.8Mbps pacing_rate 15.4Mbps/1.2Gbps delivery_rate 9.6Mbps busy:4000ms rwnd_limited:3000ms(75.0%) retrans:0/7 rcv_space:14600 notsent:1900000 minrtt:34.8
CLOSE-WAIT 1 0 10.0.0.1:80 198.51.100.8:50113 users:(("nginx",pid=31,fd=13)) cubic rto:204 rtt:4.5/2.25 cwnd:10 busy:1000ms sndbuf_limited:500ms(50.0%)
"""  # noqa: E501 - recorded lines stay whole
