/*
 * What could be there when the program has ended: objects of the kernel, and
 * processes that hide.  The latter succeed; the test looks whether they are
 * gone.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIFE_S 25         /* whatever fails here ends by itself */
#define GENERATIONS 15000 /* of one that is another all the time, 1 ms each */

/* ---- objects ---- */

TRY(shared_memory, shmget(number("key"), 4096, IPC_CREAT | 0666))
TRY(shared_private, shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666))
TRY(messages, msgget(number("key"), IPC_CREAT | 0666))
TRY(semaphores, semget(number("key"), 4, IPC_CREAT | 0666))
TRY(shared_attach, (long)shmat(0, NULL, 0))
TRY(shared_looked_at, shmctl(0, IPC_STAT, NULL))
TRY(queue, mq_open(told("name"), O_CREAT | O_RDWR, 0666, NULL))
TRY(queue_away, mq_unlink(told("name")))
TRY(posix_memory, shm_open(told("name"), O_CREAT | O_RDWR, 0666))
TRY(posix_semaphore,
    sem_open(told("name"), O_CREAT, 0666, 1) == SEM_FAILED ? -1 : 0)

/* ---- processes ---- */

static void
ignore_all(void)
{
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_IGN);
    }
}

static void __attribute__((noreturn)) stay(void)
{
    ignore_all();
    signal(SIGALRM, SIG_DFL);
    alarm(LIFE_S);
    for (;;) {
        pause();
    }
}

/* Its descriptors would keep the pipes of the run open. */
static void
close_all(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        close(fd);
    }
}

/* 0: it is there. */
static int
daemon_of(void (*be)(void))
{
    pid_t child = fork();

    if (child == 0) {
        setsid();
        if (fork() == 0) {
            be();
            stay();
        }
        _exit(0);
    }
    return tried(child == -1 ? -1 : waitpid(child, NULL, 0));
}

static void
be_silent(void)
{
    close_all();
}

static void
be_loud(void)
{
    setpgid(0, 0);
}

static void
be_orphaned(void)
{
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0);
    if (fork() == 0) {
        setsid();
    }
}

static void
be_stopped(void)
{
    close_all();
    alarm(0);
    kill(getpid(), SIGSTOP);
}

/* It is another process each time that somebody looks. */
static void
be_another(void)
{
    close_all();
    for (int i = 0; i < GENERATIONS; i++) {
        if (fork() > 0) {
            _exit(0);
        }
        usleep(1000);
    }
}

/* It goes on trying. */
static void
be_persistent(void)
{
    union address to;
    socklen_t size = to_inet(&to, "127.0.0.1", number("port"));

    for (int i = 0; i < 300; i++) {
        int fd = tcp();

        connect(fd, &to.any, size);
        close(fd);
        kill(number("target"), 0);
        usleep(10000);
    }
}

WHY(stays_silent, daemon_of(be_silent))
WHY(stays_loud, daemon_of(be_loud))
WHY(stays_orphaned, daemon_of(be_orphaned))
WHY(stays_stopped, daemon_of(be_stopped))
WHY(stays_another, daemon_of(be_another))
WHY(stays_persistent, daemon_of(be_persistent))

/* The parent's child, not ours. */
static int
stays_beside(void)
{
    long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

    if (child == 0) {
        setsid();
        stay();
    }
    return tried(child);
}

static int
stays_thread(void)
{
    pid_t child = fork();

    if (child == 0) {
        if (vfork() == 0) {
            stay();
        }
        stay();
    }
    return tried(child);
}

const struct way ways_of_left[] = {
    WAY(shared_memory),  WAY(shared_private),
    WAY(messages),       WAY(semaphores),
    WAY(shared_attach),  WAY(shared_looked_at),
    WAY(queue),          WAY(queue_away),
    WAY(posix_memory),   WAY(posix_semaphore),
    WAY(stays_silent),   WAY(stays_loud),
    WAY(stays_orphaned), WAY(stays_stopped),
    WAY(stays_another),  WAY(stays_persistent),
    WAY(stays_beside),   WAY(stays_thread),
    { NULL, NULL },
};
