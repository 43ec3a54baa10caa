/* Counts the system calls of nginx's processes: preloaded by LD_PRELOAD (ld.so(8)), without any privilege or tracer.
 *
 * Counted are calls of the C library's functions, each of which makes one system call. Every process has a record of its
 * own, FOLDER/tuneproof-calls.PID, made when it counts its first call; a file that names what it counts, so that its reader
 * (images/netadmin/netadmin/calls.py) needs no second list. Calls of all threads count.
 *
 * Not counted are calls that the C library or a library below it makes by itself, such as its own reading of files. */
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
#include <unistd.h>

#define FOLDER "/dev/shm"
/* Tests record elsewhere. */
#define FOLDER_VARIABLE "TUNEPROOF_CALLS_FOLDER"
#define EXPORTED __attribute__((visibility("default")))
#define MAGIC "TPCALLS"

_Static_assert(sizeof(off_t) == 8, "files need 64-bit offsets");

#define CALLS(X) \
    X(accept4) X(connect) X(socket) X(setsockopt) X(recv) X(send) X(read) X(write) X(readv) X(writev) \
    X(pread) X(pwrite) X(pwritev) X(sendfile) X(open) X(openat) X(close) X(unlink) X(epoll_wait)

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

struct counted {
    char name[24];
    _Atomic uint64_t calls;
    _Atomic uint64_t failed; /* among them */
    _Atomic uint64_t bytes; /* moved; of calls that move any */
};

struct record {
    char magic[8];
    uint64_t pid;
    uint64_t count;
    struct counted calls[CALLS_COUNTED];
};

static void *next[CALLS_COUNTED];
static char folder[256] = FOLDER;
static struct record *_Atomic record;
/* Set while this thread makes the record, whose own calls are none of nginx's. */
static _Thread_local bool busy;
static atomic_bool record_was_tried;

/* A fork's child counts for itself; the parent's mapping is not inherited (MADV_DONTFORK). */
static void in_child(void)
{
    atomic_store(&record, NULL);
    atomic_store(&record_was_tried, false);
}

static void *find(enum call call)
{
    if (next[call] == NULL && (next[call] = dlsym(RTLD_NEXT, names[call])) == NULL) {
        /* No C library of Linux is without these: there is nothing to go on with. */
        fprintf(stderr, "calls.so: this C library has no %s\n", names[call]);
        abort();
    }
    return next[call];
}

/* Before main: nginx empties its environment when it reads its configuration (ngx_set_environment in src/core/nginx.c). */
__attribute__((constructor)) static void start(void)
{
    const char *wanted = getenv(FOLDER_VARIABLE);
    if (wanted != NULL && strlen(wanted) < sizeof folder)
        strcpy(folder, wanted);
    /* Without it a child would count for its parent: then nothing is counted at all. */
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        atomic_store(&record_was_tried, true);
}

static void make_record(void)
{
    char path[sizeof folder + 64], unfinished[sizeof path + 8];
    struct record *made = MAP_FAILED;
    snprintf(path, sizeof path, "%s/tuneproof-calls.%ld", folder, (long)getpid());
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    unlink(unfinished);
    int file = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0)
        return;
    /* Room that is taken now: a full file system would else end nginx by SIGBUS, at some store. */
    if (posix_fallocate(file, 0, sizeof *made) == 0)
        made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (made == MAP_FAILED || madvise(made, sizeof *made, MADV_DONTFORK) != 0) {
        unlink(unfinished);
        return;
    }
    memcpy(made->magic, MAGIC, sizeof made->magic);
    made->pid = (uint64_t)getpid();
    made->count = CALLS_COUNTED;
    for (int call = 0; call < CALLS_COUNTED; call++)
        strncpy(made->calls[call].name, names[call], sizeof made->calls[call].name - 1);
    if (rename(unfinished, path) == 0)
        atomic_store(&record, made);
}

static void count(enum call call, bool failed, ssize_t bytes)
{
    if (busy)
        return;
    int error = errno;
    if (!atomic_exchange(&record_was_tried, true)) {
        busy = true;
        make_record();
        busy = false;
    }
    errno = error;
    struct record *counts = atomic_load_explicit(&record, memory_order_acquire);
    if (counts == NULL)
        return;
    struct counted *counted = &counts->calls[call];
    atomic_fetch_add_explicit(&counted->calls, 1, memory_order_relaxed);
    if (failed)
        atomic_fetch_add_explicit(&counted->failed, 1, memory_order_relaxed);
    else if (bytes > 0)
        atomic_fetch_add_explicit(&counted->bytes, (uint64_t)bytes, memory_order_relaxed);
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

COUNTED(accept4, (int socket, struct sockaddr *address, socklen_t *size, int flags), (socket, address, size, flags))
COUNTED(connect, (int socket, const struct sockaddr *address, socklen_t size), (socket, address, size))
COUNTED(socket, (int domain, int type, int protocol), (domain, type, protocol))
COUNTED(setsockopt, (int socket, int level, int option, const void *value, socklen_t size),
        (socket, level, option, value, size))
COUNTED(close, (int file), (file))
COUNTED(unlink, (const char *path), (path))
COUNTED(epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout_ms), (epoll, events, most, timeout_ms))

MOVING(recv, (int socket, void *buffer, size_t size, int flags), (socket, buffer, size, flags))
MOVING(send, (int socket, const void *buffer, size_t size, int flags), (socket, buffer, size, flags))
MOVING(read, (int file, void *buffer, size_t size), (file, buffer, size))
MOVING(write, (int file, const void *buffer, size_t size), (file, buffer, size))
MOVING(readv, (int file, const struct iovec *parts, int size), (file, parts, size))
MOVING(writev, (int file, const struct iovec *parts, int size), (file, parts, size))
MOVING(pread, (int file, void *buffer, size_t size, off_t offset), (file, buffer, size, offset))
MOVING(pwrite, (int file, const void *buffer, size_t size, off_t offset), (file, buffer, size, offset))
MOVING(pwritev, (int file, const struct iovec *parts, int size, off_t offset), (file, parts, size, offset))
MOVING(sendfile, (int to, int from, off_t *offset, size_t size), (to, from, offset, size))

/* The same functions under the names that programs with 64-bit offsets are linked to. */
EXPORTED ssize_t pread64(int file, void *buffer, size_t size, off64_t offset)
{
    return pread(file, buffer, size, offset);
}

EXPORTED ssize_t pwrite64(int file, const void *buffer, size_t size, off64_t offset)
{
    return pwrite(file, buffer, size, offset);
}

EXPORTED ssize_t pwritev64(int file, const struct iovec *parts, int size, off64_t offset)
{
    return pwritev(file, parts, size, offset);
}

EXPORTED ssize_t sendfile64(int to, int from, off64_t *offset, size_t size)
{
    return sendfile(to, from, offset, size);
}

/* The mode is there only where a file may be made. */
static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

EXPORTED int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    int file = ((int (*)(const char *, int, ...))find(CALL_open))(path, flags, mode);
    count(CALL_open, file < 0, 0);
    return file;
}

EXPORTED int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open(path, flags | O_LARGEFILE, mode);
}

EXPORTED int openat(int folder_file, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    int file = ((int (*)(int, const char *, int, ...))find(CALL_openat))(folder_file, path, flags, mode);
    count(CALL_openat, file < 0, 0);
    return file;
}

EXPORTED int openat64(int folder_file, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return openat(folder_file, path, flags | O_LARGEFILE, mode);
}
