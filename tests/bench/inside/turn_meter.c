/*
 * How much processor time turns of weir's loops take: a library that is loaded
 * in front of libc (LD_PRELOAD) and looks at the clock of the thread around
 * each epoll_wait().  So weir itself measures nothing.
 *
 * $TURN_METER is a file of PLACES records, which tests/bench/turns makes and
 * reads; each process that waits takes one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PLACES 64

struct place {
    _Atomic int64_t pid;     /* 0: free */
    _Atomic int64_t longest; /* ns; the bench sets it to 0 */
    _Atomic int64_t turns;
};

typedef int waiting(int epoll, struct epoll_event *events, int most, int ms);

static struct place *places; /* NULL: none */
static struct place *mine;
static pid_t owner;
static int64_t woken_ns;

static int64_t
cpu_ns(void)
{
    struct timespec t = { 0, 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((constructor)) static void
open_places(void)
{
    const char *path = getenv("TURN_METER");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd != -1) {
        void *at = mmap(NULL, PLACES * sizeof(struct place),
                        PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        places = at == MAP_FAILED ? NULL : at;
        close(fd);
    }
}

static void
take_place(void)
{
    owner = getpid();
    mine = NULL;
    woken_ns = cpu_ns();
    for (int i = 0; places != NULL && i < PLACES && mine == NULL; i++) {
        int64_t none = 0;

        if (atomic_compare_exchange_strong(&places[i].pid, &none, owner)) {
            mine = &places[i];
        }
    }
}

static void
end_turn(void)
{
    int64_t ns = cpu_ns() - woken_ns;

    atomic_fetch_add(&mine->turns, 1);
    if (ns > atomic_load(&mine->longest)) {
        atomic_store(&mine->longest, ns);
    }
}

int
epoll_wait(int epoll, struct epoll_event *events, int most, int ms)
{
    static waiting *real;
    int n;

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
    }
    if (owner != getpid()) {
        take_place();
    }
    if (mine != NULL) {
        end_turn();
    }
    n = real(epoll, events, most, ms);
    woken_ns = cpu_ns();
    return n;
}
