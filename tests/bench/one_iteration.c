/* Prints the mean CPU time in ns of an iteration of a small event loop, which sends a byte, waits for it, and reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int count, char **arguments)
{
    long iterations = count > 1 ? atol(arguments[1]) : 0;
    int ends[2], poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (iterations < 1 || poller < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0
        || epoll_ctl(poller, EPOLL_CTL_ADD, ends[1], &event) != 0)
        return 1;
    double began_ns = cpu_ns();
    for (long iteration = 0; iteration < iterations; iteration++) {
        char byte = 0;
        if (send(ends[0], &byte, 1, 0) != 1 || epoll_wait(poller, &event, 1, -1) != 1 || recv(ends[1], &byte, 1, 0) != 1)
            return 1;
    }
    printf("%.1f\n", (cpu_ns() - began_ns) / iterations);
    return 0;
}
