/* The record that a process keeps of its event loop's turns: a file, mapped by its writer, turns.c, and read by others.
 *
 * All words are in the machine's own byte order. images/netadmin/netadmin/turns.py has the layout for the second time, and
 * VERSION stands for it: whatever changes here, changes that.
 */
#ifndef TUNEPROOF_RECORD_H
#define TUNEPROOF_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

#define MAGIC "TPTURNS"
#define VERSION 1
/* Eight per power of two: 0 to 7, 8 to 15 one each, and so on to 2^42 (73 minutes in ns); the last one takes all above. */
#define BUCKETS 320

_Static_assert(sizeof(MAGIC) == 8, "the magic fills one word");

struct counters {
    uint64_t turns;
    uint64_t events; /* what epoll_wait returned at their beginnings */
    uint64_t wall_ns;
    uint64_t cpu_ns; /* of the thread: CLOCK_THREAD_CPUTIME_ID */
    uint64_t read_calls, read_bytes; /* from sockets; calls that failed count, and bytes that were only peeked at do not */
    uint64_t write_calls, write_bytes; /* to sockets */
    uint64_t file_write_calls, file_write_bytes; /* at an offset: nginx's temporary files, and not its logs */
};

struct histogram {
    uint64_t counts[BUCKETS];
    uint64_t sums[BUCKETS];
};

struct record {
    /* Complete before the file gets its name, constant after. */
    char magic[8];
    uint64_t version;
    uint64_t pid; /* in the process's own PID namespace */
    uint64_t created_ns; /* CLOCK_BOOTTIME: a process that started later has the id of one that has ended */
    uint64_t buckets;
    /* Odd while a turn is being added: what was read meanwhile, or across a change of it, is to be read again. */
    _Atomic uint64_t sequence;
    /* Returns of epoll_wait: one turn is open where this is ahead of counters.turns. */
    _Atomic uint64_t begun;
    struct counters counters;
    struct histogram read_bytes;
    struct histogram cpu_ns;
    struct histogram wall_ns;
};

#endif
