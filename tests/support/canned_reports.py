"""Reports of load generators."""

BANNER = """\
This is ApacheBench, Version 2.3 <$Revision: 1903618 $>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

Benchmarking 10.0.0.1 (be patient)
"""
REPORT = (
    BANNER
    + """\
Completed 5000 requests
Completed 10000 requests
Finished 10000 requests


Server Software:        nginx/1.27.0
Server Hostname:        10.0.0.1
Server Port:            80

Document Path:          /
Document Length:        615 bytes

Concurrency Level:      100
Time taken for tests:   2.500 seconds
Complete requests:      10000
Failed requests:        40
   (Connect: 0, Receive: 10, Length: 30, Exceptions: 0)
Non-2xx responses:      90
Total transferred:      8480000 bytes
HTML transferred:       6150000 bytes
Requests per second:    4000.00 [#/sec] (mean)
Time per request:       25.000 [ms] (mean)
Time per request:       0.250 [ms] (mean, across all concurrent requests)
Transfer rate:          3312.50 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    3  57.2      0    1021
Processing:     1   21   9.1     20     212
Waiting:        1   20   9.0     19     210
Total:          2   24  58.0     20    1043

Percentage of the requests served within a certain time (ms)
  50%     20
  66%     22
  75%     24
  80%     25
  90%     31
  95%     38
  98%     55
  99%     81
 100%   1043 (longest request)
"""
)
WRK = """\
Running 30s test @ http://10.0.0.1:80/
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms   1.02s    93.69%
    Req/Sec    28.10k     4.50k   40.12k    70.25%
  Latency Distribution
     50%  500.00us
     75%    1.20ms
     90%    2.50ms
     99%    1.02s
  1677100 requests in 30.02s, 1.33GB read
  Socket errors: connect 10, read 20, write 0, timeout 5
  Non-2xx or 3xx responses: 16771
Requests/sec:  55866.09
Transfer/sec:     45.35MB
"""
# The example in wrk2's README, shortened.
WRK2 = """\
Running 30s test @ http://127.0.0.1:80/index.html
  2 threads and 100 connections
  Thread calibration: mean lat.: 10087 usec, rate sampling interval: 22 msec
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.60ms    1.92ms  12.50ms   68.46%
    Req/Sec     1.04k     1.08k    2.50k    72.79%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    6.67ms
 75.000%    7.78ms
 90.000%    9.14ms
 99.000%   11.18ms
 99.900%   12.30ms
 99.990%   12.45ms
 99.999%   12.50ms
100.000%   12.50ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.921     0.000000            1         1.00
       6.671     0.500000        19783         2.00
      12.503     1.000000        39500          inf
#[Mean    =        6.602, StdDeviation   =        1.919]
#[Max     =       12.496, Total count    =        39500]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  60018 requests in 30.00s, 19.81MB read
Requests/sec:   2000.28
Transfer/sec:    676.18KB
"""
UNCORRECTED = """\

  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%    1.11ms
 99.000%    2.22ms
100.000%    3.33ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.111     0.000000            1         1.00
#[Mean    =        1.234, StdDeviation   =        0.919]
#[Max     =        3.328, Total count    =        39500]
----------------------------------------------------------
"""
OLD = """\
starting benchmark...
spawning thread #0: 10 total client(s). 10000 total requests
Application protocol: h2
progress: 10% done
progress: 100% done

finished in 771.26ms, 12965.79 req/s, 10.05MB/s
requests: 10000 total, 10000 started, 10000 done, 9940 succeeded, 60 failed, 20 errored, 5 timeout
status codes: 9900 2xx, 40 3xx, 10 4xx, 30 5xx
traffic: 7.75MB (8127020) total, 1.12MB (1177020) headers (space savings 38.05%), 6.15MB (6450000) data
                     min         max         mean         sd        +/- sd
time for request:      121us     12.05ms      1.25ms       892us    78.33%
time for connect:      1.01ms     3.02ms      2.00ms       301us    60.00%
time to 1st byte:      2.31ms     6.10ms      4.02ms       850us    60.00%
req/s           :    1297.12     1401.33     1340.10       33.21    70.00%
"""
NEW = """\
finished in 5.00s, 2000.00 req/s, 1.55MB/s
requests: 10000 total, 10000 started, 10000 done, 10000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 10000 2xx, 0 3xx, 0 4xx, 0 5xx
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :      121us     12.05ms      1.10ms      3.50ms      9.25ms      1.25ms       892us    78.33%
connect     :     1.01ms      3.02ms      2.00ms      2.90ms      3.01ms      2.00ms       301us    60.00%
TTFB        :     2.31ms      6.10ms      4.00ms      5.90ms      6.01ms      4.02ms       850us    60.00%
req/s       :     200.00      210.00      205.00      209.00      210.00      205.00        3.21    70.00%
"""
