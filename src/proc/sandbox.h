/*
 * The sandbox: the rights that a process gives up once it has opened all that
 * it needs.
 *
 *   - new privileges (always) and capabilities, the bounding set included
 *   - system calls that it has no use for: programs (execve), other processes
 *     (fork, ptrace, kill), listening sockets, code made at run time, mounts,
 *     name spaces, keys, bpf, new io_uring rings (an open one goes on)
 *   - files and connections but those that it has rights to (proc/rights.h)
 *   - being traced or dumped: memory has stream keys in it
 *
 * sandbox_table.c says which kind of process, with which right, may make
 * which system calls.  Landlock holds paths and ports (sandbox_files.c).
 *
 * A part that the kernel lacks is left out; sandbox_tell() says so.  Threads
 * and processes that are started later inherit all of it, those that run
 * already nothing.
 *
 * A build with sanitizers has to trace itself, write its reports and find
 * leaks.  Its sandbox is wide (sandbox_is_wide()): it restricts neither files
 * nor ports nor tracing, and its filter lets processes, ptrace and code pass.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SANDBOX_H
#define PROC_SANDBOX_H

#include "base/errmsg.h"
#include "base/str.h"
#include "proc/rights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sandbox_seccomp {
    SANDBOX_SECCOMP_OFF,
    SANDBOX_SECCOMP_LOG,     /* the kernel logs the call and does it */
    SANDBOX_SECCOMP_ENFORCE, /* EPERM */
};

enum sandbox_kind {
    /* A worker or role: a list of what it may call, all else is refused. */
    SANDBOX_CHILD,
    /* It forks and executes programs for a role.  A program inherits its
     * sandbox, so that it cannot be narrower than a program's. */
    SANDBOX_STARTER,
    /* It executes a program next, and has a list of what ordinary programs
     * call.  A call on it with other arguments is EPERM, one that is not on it
     * ENOSYS.  It is errno alone: handlers of signals do not live through
     * execve(). */
    SANDBOX_PROGRAM,
    /* A program that filters a process of its own further, by
     * sandbox_engine_filter(), and hears of its calls. */
    SANDBOX_SUPERVISOR,
};

struct sandbox {
    enum sandbox_kind kind;
    int seccomp; /* enum sandbox_seccomp */
    bool landlock;
    bool capabilities; /* true: given up */
    bool core_dumps;   /* true: the system's limit stays */
    /* Borrowed; NULL: none.  Starters and programs may read below programs,
     * execute what is there, and make links, pipes and sockets in what they
     * write to; fork and resize are always theirs. */
    const struct rights *rights;
    /* PROGRAM: where the descriptor goes that hears of calls which are not on
     * the list, and of signals where Landlock does not hold them, -1 if nobody
     * does; the caller owns it.  NULL: nobody does. */
    int *listener;
};

/* Called before privileges are dropped: the bounding set needs them. */
void sandbox_prepare(const struct sandbox *s);
/* Everything is open, and privileges are dropped: there is no way back.
 * -1 with err when a part that the kernel has fails. */
int sandbox_enter(const struct sandbox *s, struct errmsg *err);

/* ---- calls that are not on the list of programs ---- */

/* Filters this process, which has one thread and no new privileges, and what it
 * executes: a program that serves nobody, has sockets of TCP alone, leaves no
 * object of the kernel, has no programs in memory, and does not signal the
 * process spared, its group, or all.  A call that is not on its list is ENOSYS,
 * other arguments are EACCES.  *listener: hears of the former, of socket() and
 * connect() with SANDBOX_ENGINE_ASKS, and with SANDBOX_ENGINE_SIGNALS of all
 * signals but those to the caller's group (0); close-on-exec, owned by the
 * caller, to be sent to another process.  -1: the kernel cannot hand calls on;
 * socket() and connect() are then refused where they should ask.  -1 with
 * errno; 0 without a filter where the system has none. */
#define SANDBOX_ENGINE_ASKS 1U
#define SANDBOX_ENGINE_SIGNALS 2U
int sandbox_engine_filter(unsigned flags, pid_t spared, int *listener);

/* Whether the kernel hands calls on. */
bool sandbox_can_hear(void);

/* A call that waits for its answer. */
struct sandbox_call {
    uint64_t id;
    pid_t pid; /* the thread that makes it */
    int number;
    uint64_t arguments[6];
};

/* The listener is ready to be read (poll() says POLLIN): takes a call.  false:
 * its process is gone. */
bool sandbox_hear(int listener, struct sandbox_call *call);
/* The call returns -1 with that errno; or that value with 0.  false: nobody
 * waits for it any more. */
bool sandbox_answer(int listener, const struct sandbox_call *call, int error,
                    int64_t value);
/* The call is made as if nobody had heard of it: of one that is fine whatever
 * its memory says and other processes do.  Before Linux 5.5 it is EPERM. */
void sandbox_let(int listener, const struct sandbox_call *call);

/* Whether the kernel lets a call return a descriptor of the process that
 * answers.  Forks, and waits for that. */
bool sandbox_can_give(void);
/* The answer to a call: it returns another descriptor of what fd is one of, or
 * fails because its process may have no more.  until_exec: close-on-exec. */
void sandbox_give(int listener, const struct sandbox_call *call, int fd,
                  bool until_exec);

/* Of a session that is a run: answers kill(), tkill(), tgkill(),
 * rt_sigqueueinfo() and rt_tgsigqueueinfo(), where the filter hands them on.  A
 * process signals itself, and by kill() each process of the session but this
 * one, which sends the signal and so is its sender.  group: that of these
 * processes which kill() signals as a group, and whose number is not used again
 * meanwhile; 0: none.  All others are EPERM.  false: it is another call. */
bool sandbox_signal(int listener, const struct sandbox_call *call,
                    pid_t session, pid_t group);

/* Which numbers were told of a run: each once, SANDBOX_TOLD at most. */
#define SANDBOX_TOLD 16
struct sandbox_told {
    int numbers[SANDBOX_TOLD];
    size_t count;
};
/* Whether it is to be told now. */
bool sandbox_tells(struct sandbox_told *told, int number);
/* The role: counts a call of a program and logs it. */
void sandbox_note(const char *program, int number);

/* How many calls the filter refused in this process, but for starters and
 * programs, where none are counted; *last: the last one's number. */
unsigned sandbox_refused(int *last);

/* The master: logs what is in force, and at notice, a line each, what the
 * kernel lacks. */
void sandbox_tell(const struct sandbox *s);

bool sandbox_is_wide(void);
/* The version of Landlock; 0: there is none. */
int sandbox_landlock_version(void);
/* The versions from which it holds what is named. */
#define SANDBOX_HOLDS_FILES 1
#define SANDBOX_HOLDS_SIZES 3
#define SANDBOX_HOLDS_PORTS 4
#define SANDBOX_HOLDS_ABSTRACT 6

#endif
