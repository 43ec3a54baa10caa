/* The recorder of nginx's processes: loaded with LD_PRELOAD (ld.so(8)), without any privilege or tracer.
 *
 * Each process keeps one record, a file FOLDER/tuneproof.PID that it maps and shares; FOLDER is /dev/shm, a file system
 * in memory, so that neither a disk nor its write-back can delay the observed process. The file is created at the first
 * counted call, and contains:
 *
 * - System calls, of all threads: calls of the C library's functions, each of which makes one. Calls that the C library
 *   makes by itself, such as its own reading of files, do not count.
 * - Iterations of the event loop, each from the return of epoll_wait(2) to its next call: while one lasts, the worker
 *   serves no other client. Only the first thread that waits for events has them; threads of a pool make the same calls
 *   at the same time. The iterations' bytes read, CPU time and wall time have histograms. Each bucket has a count and
 *   the sum of the values: both show, for example, how many bytes were read in iterations that read at least 1 MiB.
 *
 * An iteration's reads from sockets and writes to files at an offset are the calls that nginx makes for connections
 * without TLS and for its temporary files (src/os/unix/ngx_recv.c, ngx_readv_chain.c, ngx_files.c). OpenSSL uses
 * read(2), which nginx also uses for files: it does not count for iterations.
 *
 * Once the record exists, there are no locks, no allocations, and no system calls except for the clocks. If no record
 * can be made, nginx continues without one.
 *
 * record.h has the layout of the record; the tracer for programs that load no library uses it, too (tracer.c).
 */
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Tests record elsewhere. */
#define FOLDER_VARIABLE "TUNEPROOF_RECORDER_FOLDER"
#define EXPORTED __attribute__((visibility("default")))

static void *next[CALLS_COUNTED];
static const char *folder = FOLDER;
/* This process's record; a child begins without one (see in_child). */
static struct record *_Atomic record;
static atomic_bool record_was_tried;
static atomic_bool loop_was_found;
/* Set while this thread creates the record, with calls that are not nginx's. */
static _Thread_local bool busy;
/* Whether this is the thread that waits for events. */
static _Thread_local bool loops;
/* The open iteration: its start in wall_ns and cpu_ns, and what it has done so far. */
static struct counters turn;

static void *find(enum call call)
{
    if (next[call] == NULL && (next[call] = dlsym(RTLD_NEXT, names[call])) == NULL) {
        /* Every C library on Linux has these: without them, nothing could work. */
        fprintf(stderr, "recorder.so: this C library has no %s\n", names[call]);
        abort();
    }
    return next[call];
}

/* A forked child must neither write into its parent's record nor count as the thread that waits for events: nginx forks
 * its workers. The mapping itself is not inherited (MADV_DONTFORK). */
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
    static char given[FOLDER_SIZE];
    if (wanted != NULL && strlen(wanted) < sizeof given)
        folder = strcpy(given, wanted);
    /* Without the handler, a child would write to a mapping that it does not have: then nothing is recorded. */
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        atomic_store(&record_was_tried, true);
}

/* Return this process's record, created if that was not tried yet; NULL if there is none. */
static struct record *own_record(void)
{
    if (!atomic_exchange(&record_was_tried, true)) {
        int error = errno;
        busy = true;
        atomic_store(&record, make_record(folder, getpid()));
        busy = false;
        errno = error;
    }
    return atomic_load_explicit(&record, memory_order_acquire);
}

/* Count a call with this result; errno stays the same. */
static void count(enum call call, ssize_t result)
{
    if (busy)
        return;
    struct record *own = own_record();
    if (own != NULL)
        add_call(own, loops ? &turn : NULL, call, result);
}

/* Called before waiting for events. Only the iterations of the first thread that calls this are recorded. */
static void end_turn(void)
{
    if (loops) {
        /* The CPU time is within the wall time: its clock is read second at the start, and first here. */
        uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - turn.cpu_ns;
        publish(record, &turn, now_ns(CLOCK_MONOTONIC) - turn.wall_ns, cpu_ns);
    } else if (own_record() != NULL) {
        loops = !atomic_exchange(&loop_was_found, true);
    }
}

/* Called after waiting. errno is still the wait's: clock_gettime does not fail here. */
static void begin_turn(void)
{
    if (!loops)
        return;
    uint64_t begun = atomic_load_explicit(&record->begun, memory_order_relaxed);
    atomic_store_explicit(&record->begun, begun + 1, memory_order_release);
    turn = (struct counters){0};
    turn.wall_ns = now_ns(CLOCK_MONOTONIC);
    turn.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

EXPORTED int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    end_turn();
    int result = ((int (*)(int, struct epoll_event *, int, int))find(CALL_epoll_wait))(epoll, events, most, timeout_ms);
    count(CALL_epoll_wait, result);
    begin_turn();
    return result;
}

EXPORTED ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
    ssize_t result = ((ssize_t (*)(int, void *, size_t, int))find(CALL_recv))(socket, buffer, size, flags);
    count(CALL_recv, result > 0 && flags & MSG_PEEK ? 0 : result);
    return result;
}

/* A function that returns -1 if it fails. */
#define COUNTED(type, name, parameters, arguments) \
    EXPORTED type name parameters \
    { \
        type result = ((type(*) parameters)find(CALL_##name)) arguments; \
        count(CALL_##name, result); \
        return result; \
    }

/* The same function under its name for programs with 64-bit offsets. */
#define ALSO_64(name, parameters, arguments) \
    EXPORTED ssize_t name##64 parameters \
    { \
        return name arguments; \
    }

COUNTED(int, accept4, (int socket, struct sockaddr *address, socklen_t *size, int flags), (socket, address, size, flags))
COUNTED(int, connect, (int socket, const struct sockaddr *address, socklen_t size), (socket, address, size))
COUNTED(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
COUNTED(int, setsockopt, (int socket, int level, int option, const void *value, socklen_t size),
        (socket, level, option, value, size))
COUNTED(int, close, (int file), (file))
COUNTED(int, unlink, (const char *path), (path))

COUNTED(ssize_t, send, (int socket, const void *buffer, size_t size, int flags), (socket, buffer, size, flags))
COUNTED(ssize_t, read, (int file, void *buffer, size_t size), (file, buffer, size))
COUNTED(ssize_t, write, (int file, const void *buffer, size_t size), (file, buffer, size))
COUNTED(ssize_t, readv, (int file, const struct iovec *parts, int size), (file, parts, size))
COUNTED(ssize_t, writev, (int file, const struct iovec *parts, int size), (file, parts, size))
COUNTED(ssize_t, pread, (int file, void *buffer, size_t size, off_t offset), (file, buffer, size, offset))
COUNTED(ssize_t, pwrite, (int file, const void *buffer, size_t size, off_t offset), (file, buffer, size, offset))
COUNTED(ssize_t, pwritev, (int file, const struct iovec *parts, int size, off_t offset), (file, parts, size, offset))
COUNTED(ssize_t, sendfile, (int to, int from, off_t *offset, size_t size), (to, from, offset, size))

ALSO_64(pread, (int file, void *buffer, size_t size, off64_t offset), (file, buffer, size, offset))
ALSO_64(pwrite, (int file, const void *buffer, size_t size, off64_t offset), (file, buffer, size, offset))
ALSO_64(pwritev, (int file, const struct iovec *parts, int size, off64_t offset), (file, parts, size, offset))
ALSO_64(sendfile, (int to, int from, off64_t *offset, size_t size), (to, from, offset, size))

/* Set the mode of a file that may be created: the argument exists only then. */
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
    count(CALL_open, file);
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
    count(CALL_openat, file);
    return file;
}

EXPORTED int openat64(int folder_file, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return openat(folder_file, path, flags | O_LARGEFILE, mode);
}
