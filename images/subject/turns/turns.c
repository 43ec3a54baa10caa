/* Records what every turn of nginx's event loop does: preloaded into nginx by LD_PRELOAD (ld.so(8)), without any privilege.
 *
 * A turn is what happens between the return of epoll_wait(2) and its next call. As long as it lasts, the worker serves nobody
 * else. What is recorded per process: turns, and how long they took, how much CPU time of the thread they used, and which
 * calls they made to read from sockets, to write to them, and to write files; see struct counters. Of the turns' bytes read,
 * CPU time and wall time there are histograms, whose buckets hold the sum of what fell into them as well: from both follows
 * "half of all bytes were read in turns that read at least so much".
 *
 * Where: FOLDER/tuneproof-turns.PID, mapped and shared; FOLDER is /dev/shm, a file system in memory, so that neither a disk
 * nor its write-back can hold up the event loop that is observed. Its layout: record.h; its readers:
 * images/netadmin/netadmin/turns.py.
 *
 * Counted are the calls that nginx makes for connections without TLS and for its temporary files (src/os/unix/ngx_recv.c,
 * ngx_readv_chain.c, ngx_send.c, ngx_writev_chain.c, ngx_linux_sendfile_chain.c, ngx_files.c). OpenSSL reads and writes by
 * read(2) and write(2), which nginx uses for files and logs as well: those two are not counted.
 *
 * A turn is added when it is over, by the one thread that waits for events, without locks, allocations or system calls but
 * for its clocks. Whatever goes wrong here, nginx runs on, unrecorded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define FOLDER "/dev/shm"
/* Tests record elsewhere. */
#define FOLDER_VARIABLE "TUNEPROOF_TURNS_FOLDER"
#define EXPORTED __attribute__((visibility("default")))

/* pwrite and pwrite64, sendfile and sendfile64 are one function each then, under two names. */
_Static_assert(sizeof(off_t) == 8, "files need 64-bit offsets");

static struct {
    int (*epoll_wait)(int, struct epoll_event *, int, int);
    int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*readv)(int, const struct iovec *, int);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*sendfile)(int, int, off_t *, size_t);
    ssize_t (*pwrite)(int, const void *, size_t, off_t);
    ssize_t (*pwritev)(int, const struct iovec *, int, off_t);
} next;

static char folder[256] = FOLDER;
/* Of this process; a child begins with neither (see in_child). */
static struct record *record;
static bool record_was_tried;
/* Whether this is the thread that waits for events: those of nginx's thread pools make the same calls, beside the loop. */
static _Thread_local bool records;
/* The open turn: its beginning in wall_ns and cpu_ns, and what it has done so far. */
static struct counters turn;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
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

/* A fork's child must not write into its parent's record, nor take itself for the thread that does: nginx forks its workers,
 * and a worker may have been forked by a process that recorded. The mapping itself is not inherited (MADV_DONTFORK). */
static void in_child(void)
{
    record = NULL;
    record_was_tried = false;
    records = false;
}

static void *find(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        /* No C library of Linux is without these: there is nothing to go on with. */
        fprintf(stderr, "turns.so: this C library has no %s\n", name);
        abort();
    }
    return function;
}

static void prepare(void)
{
    next.epoll_pwait = find("epoll_pwait");
    next.recv = find("recv");
    next.readv = find("readv");
    next.send = find("send");
    next.writev = find("writev");
    next.sendfile = find("sendfile");
    next.pwrite = find("pwrite");
    next.pwritev = find("pwritev");
    next.epoll_wait = find("epoll_wait");
}

/* Before main: nginx empties its environment when it reads its configuration (ngx_set_environment in src/core/nginx.c). */
__attribute__((constructor)) static void start(void)
{
    prepare();
    /* Without it a child would take itself for its parent. */
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        record_was_tried = true;
    const char *wanted = getenv(FOLDER_VARIABLE);
    if (wanted != NULL && strlen(wanted) < sizeof folder)
        strcpy(folder, wanted);
}

/* Another library's constructor may run before this one's. */
static inline void ensure_prepared(void)
{
    if (__builtin_expect(next.epoll_wait == NULL, 0))
        prepare();
}

/* Return a new record in an open file of its size; NULL if it cannot be. */
static struct record *mapped(int file)
{
    /* Room that is taken now: a full file system would else end nginx by SIGBUS, at some store. */
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

/* Make this process's record. The file gets its name when it is complete, and replaces that of an ended process. */
static void make_record(void)
{
    char path[sizeof folder + 64], unfinished[sizeof path + 8];
    record_was_tried = true;
    snprintf(path, sizeof path, "%s/tuneproof-turns.%ld", folder, (long)getpid());
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    unlink(unfinished);
    int file = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0)
        return;
    struct record *made = mapped(file);
    close(file);
    if (made != NULL) {
        memcpy(made->magic, MAGIC, sizeof made->magic);
        made->version = VERSION;
        made->pid = (uint64_t)getpid();
        made->created_ns = now_ns(CLOCK_BOOTTIME);
        made->buckets = BUCKETS;
        if (rename(unfinished, path) == 0) {
            record = made;
            return;
        }
        munmap(made, sizeof *made);
    }
    unlink(unfinished);
}

static void publish(uint64_t wall_ns, uint64_t cpu_ns)
{
    struct counters *sum = &record->counters;
    uint64_t sequence = atomic_load_explicit(&record->sequence, memory_order_relaxed);
    atomic_store_explicit(&record->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    sum->turns++;
    sum->events += turn.events;
    sum->wall_ns += wall_ns;
    sum->cpu_ns += cpu_ns;
    sum->read_calls += turn.read_calls;
    sum->read_bytes += turn.read_bytes;
    sum->write_calls += turn.write_calls;
    sum->write_bytes += turn.write_bytes;
    sum->file_write_calls += turn.file_write_calls;
    sum->file_write_bytes += turn.file_write_bytes;
    add(&record->read_bytes, turn.read_bytes);
    add(&record->cpu_ns, cpu_ns);
    add(&record->wall_ns, wall_ns);
    atomic_store_explicit(&record->sequence, sequence + 2, memory_order_release);
}

/* Called before waiting for events. The first thread of a process that does is the one that records. */
static void end_turn(void)
{
    if (records) {
        /* The CPU time lies within the wall time: its clock is the second one to be read at first, and now the first. */
        uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - turn.cpu_ns;
        publish(now_ns(CLOCK_MONOTONIC) - turn.wall_ns, cpu_ns);
    } else if (!record_was_tried) {
        int error = errno;
        make_record();
        records = record != NULL;
        errno = error;
    }
}

/* Called after waiting. errno is as the wait left it: clock_gettime does not fail here. */
static void begin_turn(int events)
{
    if (!records)
        return;
    uint64_t begun = atomic_load_explicit(&record->begun, memory_order_relaxed);
    atomic_store_explicit(&record->begun, begun + 1, memory_order_release);
    turn = (struct counters){.events = events > 0 ? (uint64_t)events : 0};
    turn.wall_ns = now_ns(CLOCK_MONOTONIC);
    turn.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline ssize_t counted(ssize_t result, uint64_t *calls, uint64_t *bytes)
{
    if (records) {
        ++*calls;
        if (result > 0)
            *bytes += (uint64_t)result;
    }
    return result;
}

EXPORTED int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    ensure_prepared();
    end_turn();
    int result = next.epoll_wait(epoll, events, most, timeout_ms);
    begin_turn(result);
    return result;
}

EXPORTED int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask)
{
    ensure_prepared();
    end_turn();
    int result = next.epoll_pwait(epoll, events, most, timeout_ms, mask);
    begin_turn(result);
    return result;
}

EXPORTED ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
    ensure_prepared();
    uint64_t peeked = 0;
    uint64_t *bytes = flags & MSG_PEEK ? &peeked : &turn.read_bytes;
    return counted(next.recv(socket, buffer, size, flags), &turn.read_calls, bytes);
}

EXPORTED ssize_t readv(int socket, const struct iovec *parts, int count)
{
    ensure_prepared();
    return counted(next.readv(socket, parts, count), &turn.read_calls, &turn.read_bytes);
}

EXPORTED ssize_t send(int socket, const void *buffer, size_t size, int flags)
{
    ensure_prepared();
    return counted(next.send(socket, buffer, size, flags), &turn.write_calls, &turn.write_bytes);
}

EXPORTED ssize_t writev(int socket, const struct iovec *parts, int count)
{
    ensure_prepared();
    return counted(next.writev(socket, parts, count), &turn.write_calls, &turn.write_bytes);
}

EXPORTED ssize_t sendfile(int socket, int file, off_t *offset, size_t count)
{
    ensure_prepared();
    return counted(next.sendfile(socket, file, offset, count), &turn.write_calls, &turn.write_bytes);
}

EXPORTED ssize_t sendfile64(int socket, int file, off64_t *offset, size_t count)
{
    return sendfile(socket, file, offset, count);
}

EXPORTED ssize_t pwrite(int file, const void *buffer, size_t size, off_t offset)
{
    ensure_prepared();
    return counted(next.pwrite(file, buffer, size, offset), &turn.file_write_calls, &turn.file_write_bytes);
}

EXPORTED ssize_t pwrite64(int file, const void *buffer, size_t size, off64_t offset)
{
    return pwrite(file, buffer, size, offset);
}

EXPORTED ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
    ensure_prepared();
    return counted(next.pwritev(file, parts, count, offset), &turn.file_write_calls, &turn.file_write_bytes);
}

EXPORTED ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset)
{
    return pwritev(file, parts, count, offset);
}
