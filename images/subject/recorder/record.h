/* The record of one process, and the code that adds to it, for the recorder in the process and the tracer outside it.
 *
 * All words are in the machine's own byte order. images/netadmin/netadmin/recorder.py repeats the layout: change
 * both together.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define FOLDER_SIZE 256
/* One per value below 16, then eight per power of two, to 2^42 (73 minutes in ns). The last also takes all above. */
#define BUCKETS 320

/* With 64-bit offsets, pwrite and pwrite64 are one function with two names, and so are sendfile and sendfile64. */
_Static_assert(sizeof(off_t) == 8, "files need 64-bit offsets");

#define CALLS(X) \
    X(accept4) X(connect) X(socket) X(setsockopt) X(recv) X(send) X(read) X(write) X(readv) X(writev) X(pread) X(pwrite) \
    X(pwritev) X(sendfile) X(open) X(openat) X(close) X(unlink) X(epoll_wait)

enum call {
#define NAMED(name) CALL_##name,
    CALLS(NAMED)
#undef NAMED
    CALLS_COUNTED
};

static const char *const names[] = {
#define NAMED(name) #name,
    CALLS(NAMED)
#undef NAMED
};

struct counters {
    uint64_t turns; /* iterations that are over */
    uint64_t wall_ns;
    uint64_t cpu_ns; /* of the thread; of the whole process in the tracer */
    uint64_t read_bytes; /* from sockets: recv and readv; without bytes that were only peeked at */
    uint64_t file_write_bytes; /* to files at an offset: pwrite and pwritev */
};

struct histogram {
    uint64_t counts[BUCKETS];
    uint64_t sums[BUCKETS];
};

struct counted {
    char name[24];
    _Atomic uint64_t calls;
    _Atomic uint64_t failed; /* of these calls */
};

struct record {
    /* Set before the file gets its name, then constant. */
    uint64_t created_ns; /* CLOCK_BOOTTIME: a process that started later only has the same id */
    /* Odd while an iteration is being added: a copy is invalid if this was odd, or changed meanwhile. */
    _Atomic uint64_t sequence;
    /* Returns of epoll_wait: one iteration is open if this exceeds counters.turns. */
    _Atomic uint64_t begun;
    struct counters counters;
    struct histogram read_bytes;
    struct histogram cpu_ns;
    struct histogram wall_ns;
    struct counted calls[CALLS_COUNTED];
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Return a new record in an open file; NULL on failure. */
static struct record *mapped(int file)
{
    /* Space is allocated now: otherwise, a full file system would end nginx with SIGBUS at a later write. */
    if (posix_fallocate(file, 0, sizeof(struct record)) != 0)
        return NULL;
    struct record *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (madvise(made, sizeof *made, MADV_DONTFORK) != 0) {
        munmap(made, sizeof *made);
        return NULL;
    }
    return made;
}

/* Return a new record of a process; NULL on failure. The complete file replaces one of an ended process. */
static struct record *make_record(const char *folder, pid_t pid)
{
    char path[FOLDER_SIZE + 64], unfinished[sizeof path + 8];
    snprintf(path, sizeof path, "%s/tuneproof.%ld", folder, (long)pid);
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    unlink(unfinished);
    int file = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0)
        return NULL;
    struct record *made = mapped(file);
    close(file);
    if (made != NULL) {
        made->created_ns = now_ns(CLOCK_BOOTTIME);
        for (int call = 0; call < CALLS_COUNTED; call++)
            strncpy(made->calls[call].name, names[call], sizeof made->calls[call].name - 1);
        if (rename(unfinished, path) == 0)
            return made;
        munmap(made, sizeof *made);
    }
    unlink(unfinished);
    return NULL;
}

/* Count a call with this result, and add its bytes to the open iteration, if the thread has one. */
static void add_call(struct record *own, struct counters *turn, enum call call, int64_t result)
{
    struct counted *counted = &own->calls[call];
    atomic_fetch_add_explicit(&counted->calls, 1, memory_order_relaxed);
    if (result < 0)
        atomic_fetch_add_explicit(&counted->failed, 1, memory_order_relaxed);
    else if (turn != NULL && (call == CALL_recv || call == CALL_readv))
        turn->read_bytes += (uint64_t)result;
    else if (turn != NULL && (call == CALL_pwrite || call == CALL_pwritev))
        turn->file_write_bytes += (uint64_t)result;
}

static unsigned bucket(uint64_t value)
{
    if (value < 8)
        return (unsigned)value;
    unsigned power = 63U - (unsigned)__builtin_clzll(value);
    unsigned index = (power - 2) * 8 + (unsigned)((value >> (power - 3)) & 7);
    return index < BUCKETS ? index : BUCKETS - 1;
}

static void add(struct histogram *histogram, uint64_t value)
{
    unsigned index = bucket(value);
    histogram->counts[index]++;
    histogram->sums[index] += value;
}

/* Add an iteration that is over. */
static void publish(struct record *own, const struct counters *turn, uint64_t wall_ns, uint64_t cpu_ns)
{
    struct counters *sum = &own->counters;
    uint64_t sequence = atomic_load_explicit(&own->sequence, memory_order_relaxed);
    atomic_store_explicit(&own->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    sum->turns++;
    sum->wall_ns += wall_ns;
    sum->cpu_ns += cpu_ns;
    sum->read_bytes += turn->read_bytes;
    sum->file_write_bytes += turn->file_write_bytes;
    add(&own->read_bytes, turn->read_bytes);
    add(&own->cpu_ns, cpu_ns);
    add(&own->wall_ns, wall_ns);
    atomic_store_explicit(&own->sequence, sequence + 2, memory_order_release);
}
