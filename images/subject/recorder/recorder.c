/* Records what nginx's processes do: preloaded by LD_PRELOAD (ld.so(8)), without any privilege or tracer.
 *
 * Each process keeps one record, a file FOLDER/tuneproof.PID that it maps and shares; FOLDER is /dev/shm, a file system in
 * memory, so that neither a disk nor its write-back can hold up what is observed. It is made at the first call that counts,
 * and holds two things:
 *
 * - System calls: calls of the C library's functions, each of which makes one, of all threads. Not counted are those that
 *   the C library, or one below it, makes by itself, such as its own reading of files.
 * - Iterations of the event loop, each from the return of epoll_wait(2) to its next call: as long as one lasts, the worker
 *   serves nobody else. They belong to the first thread that waits for events; threads of a pool make the same calls beside
 *   it. Of the iterations' bytes read, CPU time and wall time there are histograms, whose buckets hold the sum of what fell
 *   into them as well: from both follows "half of all bytes were read in iterations that read at least so much".
 *
 * What an iteration read from sockets, wrote to them, and wrote to files at an offset, are the calls that nginx makes for
 * connections without TLS and for its temporary files (src/os/unix/ngx_recv.c, ngx_readv_chain.c, ngx_send.c,
 * ngx_writev_chain.c, ngx_linux_sendfile_chain.c, ngx_files.c). OpenSSL reads and writes by read(2) and write(2), which
 * nginx uses for files and logs as well: no iteration has those two.
 *
 * No locks, allocations or system calls but for the clocks. Whatever goes wrong here, nginx runs on, unrecorded.
 *
 * All words of a record are in the machine's own byte order. images/netadmin/netadmin/recorder.py has the layout for the
 * second time, and VERSION stands for it: whatever changes here, changes that.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
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

#define FOLDER "/dev/shm"
/* Tests record elsewhere. */
#define FOLDER_VARIABLE "TUNEPROOF_RECORDER_FOLDER"
#define EXPORTED __attribute__((visibility("default")))
#define MAGIC "TPRECRD"
#define VERSION 1
/* Eight per power of two: 0 to 7, 8 to 15 one each, and so on to 2^42 (73 minutes in ns); the last one takes all above. */
#define BUCKETS 320

_Static_assert(sizeof(MAGIC) == 8, "the magic fills one word");
/* pwrite and pwrite64, sendfile and sendfile64 are one function each then, under two names. */
_Static_assert(sizeof(off_t) == 8, "files need 64-bit offsets");

/* What an iteration of the event loop has of a call. */
enum purpose { READ, WRITE, FILE_WRITE, NOTHING, PURPOSES = NOTHING };

#define CALLS(X) \
    X(accept4, NOTHING) X(connect, NOTHING) X(socket, NOTHING) X(setsockopt, NOTHING) X(recv, READ) X(send, WRITE) \
    X(read, NOTHING) X(write, NOTHING) X(readv, READ) X(writev, WRITE) X(pread, NOTHING) X(pwrite, FILE_WRITE) \
    X(pwritev, FILE_WRITE) X(sendfile, WRITE) X(open, NOTHING) X(openat, NOTHING) X(close, NOTHING) X(unlink, NOTHING) \
    X(epoll_wait, NOTHING)

enum call {
#define NAMED(name, purpose) CALL_##name,
    CALLS(NAMED)
#undef NAMED
    CALLS_COUNTED
};

static const char *const names[] = {
#define NAMED(name, purpose) #name,
    CALLS(NAMED)
#undef NAMED
};

static const enum purpose purposes[] = {
#define NAMED(name, purpose) purpose,
    CALLS(NAMED)
#undef NAMED
};

struct counters {
    uint64_t turns; /* iterations that are over */
    uint64_t events; /* what epoll_wait returned at their beginnings */
    uint64_t wall_ns;
    uint64_t cpu_ns; /* of the thread: CLOCK_THREAD_CPUTIME_ID */
    struct {
        uint64_t calls; /* those that failed, too */
        uint64_t bytes; /* not those that were only peeked at */
    } moved[PURPOSES];
};

struct histogram {
    uint64_t counts[BUCKETS];
    uint64_t sums[BUCKETS];
};

struct counted {
    char name[24];
    _Atomic uint64_t calls;
    _Atomic uint64_t failed; /* among them */
    _Atomic uint64_t bytes; /* moved; of calls that move any */
};

struct record {
    /* Complete before the file gets its name, constant after. */
    char magic[8];
    uint64_t version;
    uint64_t pid; /* in the process's own PID namespace */
    uint64_t created_ns; /* CLOCK_BOOTTIME: a process that started later has the id of one that has ended */
    uint64_t buckets;
    uint64_t calls_counted;
    /* Odd while an iteration is being added: what was read meanwhile, or across a change of it, is to be read again. */
    _Atomic uint64_t sequence;
    /* Returns of epoll_wait: one iteration is open where this is ahead of counters.turns. */
    _Atomic uint64_t begun;
    struct counters counters;
    struct histogram read_bytes;
    struct histogram cpu_ns;
    struct histogram wall_ns;
    struct counted calls[CALLS_COUNTED];
};

static void *next[CALLS_COUNTED];
static char folder[256] = FOLDER;
/* Of this process; a child begins with none (see in_child). */
static struct record *_Atomic record;
static atomic_bool record_was_tried;
static atomic_bool loop_was_found;
/* Set while this thread makes the record, whose own calls are none of nginx's. */
static _Thread_local bool busy;
/* Whether this is the thread that waits for events. */
static _Thread_local bool loops;
/* The open iteration: its beginning in wall_ns and cpu_ns, and what it has done so far. */
static struct counters turn;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void *find(enum call call)
{
    if (next[call] == NULL && (next[call] = dlsym(RTLD_NEXT, names[call])) == NULL) {
        /* No C library of Linux is without these: there is nothing to go on with. */
        fprintf(stderr, "recorder.so: this C library has no %s\n", names[call]);
        abort();
    }
    return next[call];
}

/* A fork's child must not write into its parent's record, nor take itself for the thread that does: nginx forks its workers,
 * and a worker may have been forked by a process that recorded. The mapping itself is not inherited (MADV_DONTFORK). */
static void in_child(void)
{
    atomic_store(&record, NULL);
    atomic_store(&record_was_tried, false);
    atomic_store(&loop_was_found, false);
    loops = false;
}

/* Before main: nginx empties its environment when it reads its configuration (ngx_set_environment in src/core/nginx.c). */
__attribute__((constructor)) static void start(void)
{
    const char *wanted = getenv(FOLDER_VARIABLE);
    if (wanted != NULL && strlen(wanted) < sizeof folder)
        strcpy(folder, wanted);
    /* Without it a child would take itself for its parent: then nothing is recorded at all. */
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        atomic_store(&record_was_tried, true);
}

/* Return a new record in an open file; NULL if it cannot be. */
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
    snprintf(path, sizeof path, "%s/tuneproof.%ld", folder, (long)getpid());
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
        made->calls_counted = CALLS_COUNTED;
        for (int call = 0; call < CALLS_COUNTED; call++)
            strncpy(made->calls[call].name, names[call], sizeof made->calls[call].name - 1);
        if (rename(unfinished, path) == 0) {
            atomic_store(&record, made);
            return;
        }
        munmap(made, sizeof *made);
    }
    unlink(unfinished);
}

/* Return this process's record, which is made if it was not tried yet; NULL where there is none. */
static struct record *own_record(void)
{
    if (!atomic_exchange(&record_was_tried, true)) {
        int error = errno;
        busy = true;
        make_record();
        busy = false;
        errno = error;
    }
    return atomic_load_explicit(&record, memory_order_acquire);
}

/* Counts a call that has returned, and leaves errno as it is. */
static void count(enum call call, bool failed, ssize_t bytes)
{
    if (busy)
        return;
    uint64_t moved = bytes > 0 ? (uint64_t)bytes : 0;
    struct record *own = own_record();
    if (own == NULL)
        return;
    struct counted *counted = &own->calls[call];
    atomic_fetch_add_explicit(&counted->calls, 1, memory_order_relaxed);
    if (failed)
        atomic_fetch_add_explicit(&counted->failed, 1, memory_order_relaxed);
    if (moved > 0)
        atomic_fetch_add_explicit(&counted->bytes, moved, memory_order_relaxed);
    if (loops && purposes[call] != NOTHING) {
        turn.moved[purposes[call]].calls++;
        turn.moved[purposes[call]].bytes += moved;
    }
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

static void publish(struct record *own, uint64_t wall_ns, uint64_t cpu_ns)
{
    struct counters *sum = &own->counters;
    uint64_t sequence = atomic_load_explicit(&own->sequence, memory_order_relaxed);
    atomic_store_explicit(&own->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    sum->turns++;
    sum->events += turn.events;
    sum->wall_ns += wall_ns;
    sum->cpu_ns += cpu_ns;
    for (int purpose = 0; purpose < PURPOSES; purpose++) {
        sum->moved[purpose].calls += turn.moved[purpose].calls;
        sum->moved[purpose].bytes += turn.moved[purpose].bytes;
    }
    add(&own->read_bytes, turn.moved[READ].bytes);
    add(&own->cpu_ns, cpu_ns);
    add(&own->wall_ns, wall_ns);
    atomic_store_explicit(&own->sequence, sequence + 2, memory_order_release);
}

/* Called before waiting for events. The first thread of a process that does is the one whose iterations are recorded. */
static void end_turn(void)
{
    if (loops) {
        /* The CPU time lies within the wall time: its clock is the second one to be read at first, and now the first. */
        uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - turn.cpu_ns;
        publish(record, now_ns(CLOCK_MONOTONIC) - turn.wall_ns, cpu_ns);
    } else if (own_record() != NULL) {
        loops = !atomic_exchange(&loop_was_found, true);
    }
}

/* Called after waiting. errno is as the wait left it: clock_gettime does not fail here. */
static void begin_turn(int events)
{
    if (!loops)
        return;
    uint64_t begun = atomic_load_explicit(&record->begun, memory_order_relaxed);
    atomic_store_explicit(&record->begun, begun + 1, memory_order_release);
    turn = (struct counters){.events = events > 0 ? (uint64_t)events : 0};
    turn.wall_ns = now_ns(CLOCK_MONOTONIC);
    turn.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

EXPORTED int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    end_turn();
    int result = ((int (*)(int, struct epoll_event *, int, int))find(CALL_epoll_wait))(epoll, events, most, timeout_ms);
    count(CALL_epoll_wait, result < 0, 0);
    begin_turn(result);
    return result;
}

EXPORTED ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
    ssize_t result = ((ssize_t (*)(int, void *, size_t, int))find(CALL_recv))(socket, buffer, size, flags);
    count(CALL_recv, result < 0, flags & MSG_PEEK ? 0 : result);
    return result;
}

/* A function that returns -1 when it fails, and else nothing that is a number of bytes. */
#define COUNTED(name, parameters, arguments) \
    EXPORTED int name parameters \
    { \
        int result = ((int(*) parameters)find(CALL_##name)) arguments; \
        count(CALL_##name, result < 0, 0); \
        return result; \
    }

/* One that returns how many bytes it moved. */
#define MOVING(name, parameters, arguments) \
    EXPORTED ssize_t name parameters \
    { \
        ssize_t result = ((ssize_t(*) parameters)find(CALL_##name)) arguments; \
        count(CALL_##name, result < 0, result); \
        return result; \
    }

/* The same function under the name that programs with 64-bit offsets are linked to. */
#define ALSO_64(name, parameters, arguments) \
    EXPORTED ssize_t name##64 parameters \
    { \
        return name arguments; \
    }

COUNTED(accept4, (int socket, struct sockaddr *address, socklen_t *size, int flags), (socket, address, size, flags))
COUNTED(connect, (int socket, const struct sockaddr *address, socklen_t size), (socket, address, size))
COUNTED(socket, (int domain, int type, int protocol), (domain, type, protocol))
COUNTED(setsockopt, (int socket, int level, int option, const void *value, socklen_t size),
        (socket, level, option, value, size))
COUNTED(close, (int file), (file))
COUNTED(unlink, (const char *path), (path))

MOVING(send, (int socket, const void *buffer, size_t size, int flags), (socket, buffer, size, flags))
MOVING(read, (int file, void *buffer, size_t size), (file, buffer, size))
MOVING(write, (int file, const void *buffer, size_t size), (file, buffer, size))
MOVING(readv, (int file, const struct iovec *parts, int size), (file, parts, size))
MOVING(writev, (int file, const struct iovec *parts, int size), (file, parts, size))
MOVING(pread, (int file, void *buffer, size_t size, off_t offset), (file, buffer, size, offset))
MOVING(pwrite, (int file, const void *buffer, size_t size, off_t offset), (file, buffer, size, offset))
MOVING(pwritev, (int file, const struct iovec *parts, int size, off_t offset), (file, parts, size, offset))
MOVING(sendfile, (int to, int from, off_t *offset, size_t size), (to, from, offset, size))

ALSO_64(pread, (int file, void *buffer, size_t size, off64_t offset), (file, buffer, size, offset))
ALSO_64(pwrite, (int file, const void *buffer, size_t size, off64_t offset), (file, buffer, size, offset))
ALSO_64(pwritev, (int file, const struct iovec *parts, int size, off64_t offset), (file, parts, size, offset))
ALSO_64(sendfile, (int to, int from, off64_t *offset, size_t size), (to, from, offset, size))

/* Set the mode of a file that may be made, which is there only then. */
#define MODE_OF(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode = va_arg(arguments, mode_t); \
        va_end(arguments); \
    }

EXPORTED int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    int file = ((int (*)(const char *, int, ...))find(CALL_open))(path, flags, mode);
    count(CALL_open, file < 0, 0);
    return file;
}

EXPORTED int open64(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open(path, flags | O_LARGEFILE, mode);
}

EXPORTED int openat(int folder_file, const char *path, int flags, ...)
{
    MODE_OF(flags)
    int file = ((int (*)(int, const char *, int, ...))find(CALL_openat))(folder_file, path, flags, mode);
    count(CALL_openat, file < 0, 0);
    return file;
}

EXPORTED int openat64(int folder_file, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return openat(folder_file, path, flags | O_LARGEFILE, mode);
}
