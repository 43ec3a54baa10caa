/* Lets a user-mode kernel run on CPUs with more register state than it has room for.
 *
 * Until Linux 6.13, a user-mode kernel keeps the registers of its processes in an area with a size that was fixed when it
 * was built (FP_SIZE, arch/x86/um). The host's kernel accepts such registers only completely (xstateregs_set() in
 * arch/x86/kernel/fpu/regset.c), and on a CPU with AMX they are four times as large: the first process that starts
 * inside gets a fatal signal, and the kernel panics. This library therefore reads all registers first, and writes those
 * without room in the area back unchanged.
 *
 * It is loaded with LD_PRELOAD into the user-mode kernel, which calls ptrace(2) through the C library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* The largest register state today has 11 KiB. The buffer is static: the stack of a kernel has no room for it. */
#define MOST_BYTES 65536

static long (*real_ptrace)(int request, ...);
static unsigned char whole[MOST_BYTES];

__attribute__((constructor)) static void find_ptrace(void)
{
    *(void **)&real_ptrace = dlsym(RTLD_NEXT, "ptrace");
}

static long set_whole(int pid, void *note, const struct iovec *part)
{
    struct iovec all = {.iov_base = whole, .iov_len = sizeof whole};
    long result = real_ptrace(PTRACE_GETREGSET, pid, note, &all);

    if (result == 0) {
        if (part->iov_len < all.iov_len)
            memcpy(whole, part->iov_base, part->iov_len);
        else
            all = *part;
        result = real_ptrace(PTRACE_SETREGSET, pid, note, &all);
    }
    return result;
}

__attribute__((visibility("default"))) long ptrace(enum __ptrace_request request, ...)
{
    va_list rest;
    va_start(rest, request);
    int pid = va_arg(rest, int);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);

    if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE)
        return real_ptrace(request, pid, address, data);

    /* The kernel's timer may switch to another process in between, with other registers. */
    sigset_t all_signals, before;
    sigfillset(&all_signals);
    sigprocmask(SIG_SETMASK, &all_signals, &before);
    long result = set_whole(pid, address, data);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}
