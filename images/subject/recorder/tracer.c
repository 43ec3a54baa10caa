/* Records the processes of a program that loads no library, such as a static nginx: tracer PROGRAM ARGUMENT...
 *
 * It starts the program and follows it and its children with ptrace(2), which a process may use on its own children
 * without any privilege. Each process gets a record like that of recorder.c (record.h), with the same calls under the
 * same names: those of the C library's functions. There are three differences: calls that the C library makes by
 * itself, such as those at a program's start, count; CPU time is that of the whole process; and each call stops the
 * process twice, which lengthens an iteration's times, but does not affect counts.
 *
 * The tracer itself is a process in the background. The one in the foreground passes signals on to the program's first
 * process, and ends with it and with its status; a daemon that the program leaves running is traced until it ends.
 * After an error here, the program continues without a record, and standard error has the reason.
 */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Not the variable of recorder.c: a test has both record the same process. */
#define FOLDER_VARIABLE "TUNEPROOF_TRACER_FOLDER"
#define NO_CALL CALLS_COUNTED

struct process {
    pid_t pid;
    pid_t loops; /* the first thread that waited for events; 0 for none yet */
    bool was_tried;
    unsigned threads;
    struct record *record; /* NULL if there is none */
    struct counters turn; /* the open iteration, as in recorder.c */
};

struct thread {
    pid_t id;
    struct process *process;
    enum call call; /* the call that it is in; NO_CALL if there is none, or it is not counted */
    bool only_peeks;
};

static struct thread *threads;
static size_t threads_known;
static char folder[FOLDER_SIZE] = FOLDER;

static void complain(const char *what)
{
    fprintf(stderr, "tracer: %s: %s\n", what, strerror(errno));
}

/* Return the C library's function that makes a system call; NO_CALL if it is not counted. */
static enum call call_of(const struct __ptrace_syscall_info *info)
{
    switch (info->entry.nr) {
    case SYS_accept4: return CALL_accept4;
    case SYS_connect: return CALL_connect;
    case SYS_socket: return CALL_socket;
    case SYS_setsockopt: return CALL_setsockopt;
    case SYS_recvfrom: return CALL_recv;
    case SYS_sendto: return CALL_send;
    case SYS_read: return CALL_read;
    case SYS_write: return CALL_write;
    case SYS_readv: return CALL_readv;
    case SYS_writev: return CALL_writev;
    case SYS_pread64: return CALL_pread;
    case SYS_pwrite64: return CALL_pwrite;
    case SYS_pwritev: return CALL_pwritev;
    case SYS_sendfile: return CALL_sendfile;
    /* glibc's open(3) calls openat with AT_FDCWD; a program's own openat with it looks the same. */
    case SYS_openat: return (int)info->entry.args[0] == AT_FDCWD ? CALL_open : CALL_openat;
    case SYS_close: return CALL_close;
    case SYS_unlinkat: return CALL_unlink;
    case SYS_epoll_pwait: return CALL_epoll_wait;
#ifdef SYS_open /* Newer architectures have none of these. */
    case SYS_open: return CALL_open;
    case SYS_unlink: return CALL_unlink;
    case SYS_epoll_wait: return CALL_epoll_wait;
#endif
    default: return NO_CALL;
    }
}

static pid_t process_of(pid_t thread)
{
    char path[64], line[128];
    int pid = thread;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)thread);
    FILE *status = fopen(path, "re");
    if (status == NULL)
        return pid;
    while (fgets(line, sizeof line, status) != NULL && sscanf(line, "Tgid: %d", &pid) != 1)
        continue;
    fclose(status);
    return pid;
}

/* Return a thread, added if it is new; NULL without memory. */
static struct thread *thread_of(pid_t id)
{
    for (size_t index = 0; index < threads_known; index++)
        if (threads[index].id == id)
            return &threads[index];
    struct thread *more = reallocarray(threads, threads_known + 1, sizeof *threads);
    if (more == NULL)
        return NULL;
    threads = more;
    struct process *process = NULL;
    pid_t pid = process_of(id);
    for (size_t index = 0; index < threads_known && process == NULL; index++)
        if (threads[index].process->pid == pid)
            process = threads[index].process;
    if (process == NULL && (process = calloc(1, sizeof *process)) == NULL)
        return NULL;
    process->pid = pid;
    process->threads++;
    threads[threads_known] = (struct thread){.id = id, .process = process, .call = NO_CALL};
    return &threads[threads_known++];
}

static void forget_record(struct process *process)
{
    if (process->record != NULL)
        munmap(process->record, sizeof *process->record);
    *process = (struct process){.pid = process->pid, .threads = process->threads};
}

static void forget(pid_t id)
{
    for (size_t index = 0; index < threads_known; index++) {
        if (threads[index].id != id)
            continue;
        struct process *process = threads[index].process;
        threads[index] = threads[--threads_known];
        if (--process->threads == 0) {
            forget_record(process);
            free(process);
        }
        return;
    }
}

static struct record *record_of(struct process *process)
{
    if (!process->was_tried) {
        process->was_tried = true;
        process->record = make_record(folder, process->pid);
        if (process->record == NULL)
            complain("no record can be made");
    }
    return process->record;
}

static uint64_t cpu_ns(const struct process *process)
{
    clockid_t clock;
    /* The whole process's: threads of other processes have no readable clock. Workers without pools have one. */
    return clock_getcpuclockid(process->pid, &clock) == 0 ? now_ns(clock) : 0;
}

static void enter(struct thread *thread, const struct __ptrace_syscall_info *info)
{
    struct process *process = thread->process;
    thread->call = call_of(info);
    thread->only_peeks = thread->call == CALL_recv && (info->entry.args[3] & MSG_PEEK) != 0;
    if (thread->call == NO_CALL || record_of(process) == NULL)
        return;
    if (thread->call == CALL_epoll_wait && process->loops == thread->id)
        publish(process->record, &process->turn, now_ns(CLOCK_MONOTONIC) - process->turn.wall_ns,
                cpu_ns(process) - process->turn.cpu_ns);
    else if (thread->call == CALL_epoll_wait && process->loops == 0)
        process->loops = thread->id;
}

static void leave(struct thread *thread, const struct __ptrace_syscall_info *info)
{
    struct process *process = thread->process;
    enum call call = thread->call;
    int64_t result = info->exit.rval;
    thread->call = NO_CALL;
    /* The kernel's ERESTARTSYS to ERESTART_RESTARTBLOCK: after a signal the same call is made again. */
    bool is_repeated = info->exit.is_error && result <= -512 && result >= -516;
    if (call == NO_CALL || process->record == NULL || (is_repeated && call != CALL_epoll_wait))
        return;
    bool loops = process->loops == thread->id;
    add_call(process->record, loops ? &process->turn : NULL, call, result > 0 && thread->only_peeks ? 0 : result);
    if (call != CALL_epoll_wait || !loops)
        return;
    uint64_t begun = atomic_load_explicit(&process->record->begun, memory_order_relaxed);
    atomic_store_explicit(&process->record->begun, begun + 1, memory_order_release);
    process->turn = (struct counters){0};
    process->turn.wall_ns = now_ns(CLOCK_MONOTONIC);
    process->turn.cpu_ns = cpu_ns(process);
}

static void look_at_call(struct thread *thread)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread->id, sizeof info, &info) < 0) {
        /* A thread that is killed while it is stopped is gone. Kernels before 5.3 lack this request. */
        if (errno != ESRCH)
            complain("PTRACE_GET_SYSCALL_INFO");
    } else if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        enter(thread, &info);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        leave(thread, &info);
    }
}

/* Follow the program until all of its processes have ended; write the first one's status to the pipe. */
static void follow(pid_t first, int told)
{
    pid_t id;
    int status;
    while ((id = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (id < 0)
            continue;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            forget(id);
            if (id == first && write(told, &status, sizeof status) < 0)
                complain("cannot report the program's end");
            continue;
        }
        struct thread *thread = thread_of(id);
        int signal = WSTOPSIG(status), event = status >> 16, deliver = 0;
        enum __ptrace_request onward = PTRACE_SYSCALL;
        if (signal == (SIGTRAP | 0x80)) {
            if (thread != NULL)
                look_at_call(thread);
        } else if (event == PTRACE_EVENT_STOP) {
            /* A stop caused by a signal lasts until SIGCONT; one with SIGTRAP is a new thread's first. */
            if (signal != SIGTRAP)
                onward = PTRACE_LISTEN;
        } else if (event == PTRACE_EVENT_EXEC) {
            if (thread != NULL)
                forget_record(thread->process);
        } else if (event == 0) {
            deliver = signal;
        }
        ptrace(onward, id, 0, deliver);
    }
}

static _Noreturn void trace(char **program, int told)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0) {
        complain("pipe2");
        _exit(EXIT_FAILURE);
    }
    pid_t first = fork();
    if (first == 0) {
        char any;
        close(go[1]);
        if (read(go[0], &any, 1) < 0)
            complain("read");
        execvp(program[0], program);
        complain(program[0]);
        _exit(127);
    }
    const unsigned long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                                  PTRACE_O_TRACEEXEC;
    if (first < 0 || write(told, &first, sizeof first) < 0 || ptrace(PTRACE_SEIZE, first, 0, options) != 0 ||
        ptrace(PTRACE_INTERRUPT, first, 0, 0) != 0)
        complain("ptrace");
    close(go[0]);
    close(go[1]);
    follow(first, told);
    _exit(EXIT_SUCCESS);
}

static volatile sig_atomic_t first_process;

static void pass_on(int signal)
{
    if (first_process > 0)
        kill((pid_t)first_process, signal);
}

/* Read the next word from a pipe; false at the end of the pipe. */
static bool was_told(int from, int *word)
{
    ssize_t size;
    do
        size = read(from, word, sizeof *word);
    while (size < 0 && errno == EINTR);
    return size == sizeof *word;
}

int main(int count, char **arguments)
{
    const char *wanted = getenv(FOLDER_VARIABLE);
    static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
    int told[2], word, status;
    if (wanted != NULL && strlen(wanted) < sizeof folder)
        strcpy(folder, wanted);
    if (count < 2 || pipe2(told, O_CLOEXEC) != 0)
        return EXIT_FAILURE;
    pid_t tracer = fork();
    if (tracer == 0) {
        /* A terminal's signals then reach only the foreground process, which passes them on. */
        setsid();
        trace(arguments + 1, told[1]);
    }
    close(told[1]);
    if (tracer < 0 || !was_told(told[0], &word))
        return EXIT_FAILURE;
    first_process = word;
    for (size_t index = 0; index < sizeof passed_on / sizeof *passed_on; index++)
        sigaction(passed_on[index], &(struct sigaction){.sa_handler = pass_on}, NULL);
    if (!was_told(told[0], &status))
        return EXIT_FAILURE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
