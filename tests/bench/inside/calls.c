/*
 * What a call to a role costs (proc/rpc.h), beside a bare ping-pong over a
 * SOCK_SEQPACKET pair between two processes in the same run.
 *
 *   calls [--check]   prints a table; --check: exits with 1 when a bar is
 * missed
 *
 * It is linked with weir's own code and needs some seconds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/rpc.h"

#define BYTES 64      /* of a request and of an answer */
#define ROUNDS 5      /* both kinds in turn, the best of each counts */
#define PINGS 4000    /* a round */
#define WINDOW 256    /* calls that are under way at once */
#define CALLS 200000u /* pipelined, a round */
#define BAR_RATIO 2.0
#define BAR_RATE 100000.0 /* calls a second */

static struct rpc_method methods[] = {
    { .name = "bench.echo",
      .role = "bench",
      .caller = BUS_ANYBODY,
      .request_max = BYTES,
      .answer_max = BYTES,
      .open_max = WINDOW },
    { .name = NULL },
};

static struct loop *loop;
static uint8_t data[BYTES];
static int64_t times[PINGS]; /* ns */

static void
give_up(const char *what)
{
    fprintf(stderr, "calls: %s\n", what);
    exit(2);
}

static int64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double
median_us(void)
{
    qsort(times, PINGS, sizeof(times[0]), compare);
    return (double)times[PINGS / 2] / 1000;
}

/* ---- bare ---- */

static pid_t
start_echo(int fd)
{
    pid_t pid = fork();
    ssize_t n = 0;

    if (pid != 0) {
        return pid;
    }
    do {
        n = recv(fd, data, sizeof(data), 0);
    } while (n > 0 && send(fd, data, (size_t)n, 0) == n);
    _exit(0);
}

static double
ping_bare(void)
{
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == -1) {
        give_up("no socket pair");
    }
    pid = start_echo(pair[1]);
    for (int i = 0; i < PINGS; i++) {
        int64_t begin = now_ns();

        if (send(pair[0], data, BYTES, 0) != BYTES ||
            recv(pair[0], data, BYTES, 0) != BYTES) {
            give_up("the bare echo is gone");
        }
        times[i] = now_ns() - begin;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pair[0]);
    close(pair[1]);
    return median_us();
}

/* ---- calls ---- */

static void
echo(void *arg, struct rpc_request *r)
{
    (void)arg;
    rpc_reply(&r, r->data, r->len, -1);
}

static void
run_role(uint32_t slot)
{
    struct errmsg err;

    slot_set_self(slot);
    loop = loop_new(&err);
    if (loop == NULL || bus_open(loop, &err) == -1) {
        give_up(err.text);
    }
    rpc_open(loop);
    rpc_serve(&methods[0], echo, NULL);
    slot_say(SLOT_READY);
    loop_run(loop);
    _exit(0);
}

static pid_t
start_role(void)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_ROLE, "bench", 0, 1);
    pid_t pid = fork();

    if (pid == 0) {
        run_role(slot);
    }
    slot_set_pid(slot, pid);
    while (slot_find_role("bench", 0) == 0) {
        usleep(1000);
    }
    return pid;
}

static unsigned ended, failed;

static void
on_answer(void *arg, struct rpc_answer *a)
{
    (void)arg;
    ended++;
    failed += a->status != RPC_OK;
}

static void
call(void)
{
    struct rpc_options o = { .timeout_ms = 60000, .on_answer = on_answer };
    struct errmsg err;

    if (rpc_call(&methods[0], &o, data, BYTES, -1, &err) == NULL) {
        give_up(err.text);
    }
}

static double
ping_call(void)
{
    for (int i = 0; i < PINGS; i++) {
        int64_t begin = now_ns();

        ended = 0;
        call();
        while (ended == 0) {
            loop_turn(loop, -1);
        }
        times[i] = now_ns() - begin;
    }
    return median_us();
}

/* Time of a process on a processor, us; others on the machine take nothing
 * from it. */
static double
busy_us(pid_t pid)
{
    struct timespec t;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 ||
        clock_gettime(clock, &t) == -1) {
        give_up("no clock of a process");
    }
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Of a pipelined call. */
struct cost {
    double caller, role; /* us on a processor */
    double rate;         /* calls a second */
};

/* WINDOW calls are under way. */
static struct cost
pipeline(pid_t role)
{
    double caller_begin = busy_us(0), role_begin = busy_us(role);
    int64_t begin = clock_us();
    unsigned begun = 0;

    ended = 0;
    while (ended < CALLS) {
        while (begun < CALLS && begun - ended < WINDOW) {
            call();
            begun++;
        }
        loop_turn(loop, -1);
    }
    return (struct cost){ .caller = (busy_us(0) - caller_begin) / CALLS,
                          .role = (busy_us(role) - role_begin) / CALLS,
                          .rate = CALLS * 1e6 / (double)(clock_us() - begin) };
}

static double
lesser(double a, double b)
{
    return a < b ? a : b;
}

/* The best of each. */
static void
take_best(struct cost *best, const struct cost *c)
{
    best->caller = lesser(best->caller, c->caller);
    best->role = lesser(best->role, c->role);
    best->rate = c->rate > best->rate ? c->rate : best->rate;
}

static int
report(double bare, double one, const struct cost *c, bool check)
{
    printf("calls to a role, %d bytes each way, best of %d rounds\n", BYTES,
           ROUNDS);
    printf("  bare ping-pong, p50         %9.1f us\n", bare);
    printf("  call and answer, p50        %9.1f us  %5.2f x (at most %.0f)\n",
           one, one / bare, BAR_RATIO);
    printf("  pipelined, %d under way    %9.0f a second (at least %.0f)\n",
           WINDOW, c->rate, BAR_RATE);
    printf("  processor time of a pipelined call: caller %.2f us, role %.2f "
           "us\n",
           c->caller, c->role);
    return failed > 0 ||
           (check && (one > BAR_RATIO * bare || c->rate < BAR_RATE));
}

int
main(int argc, char **argv)
{
    struct cost best = { .caller = 1e9, .role = 1e9 };
    double bare = 1e9, one = 1e9;
    struct errmsg err;
    pid_t role;

    loop = loop_new(&err);
    if (loop == NULL || slots_create(4, &err) == -1 || bus_create(&err) == -1 ||
        rpc_register(methods, &err) == -1) {
        give_up(err.text);
    }
    role = start_role();
    if (bus_open(loop, &err) == -1) {
        give_up(err.text);
    }
    rpc_open(loop);
    for (int i = 0; i < ROUNDS; i++) {
        struct cost c;

        bare = lesser(bare, ping_bare());
        one = lesser(one, ping_call());
        c = pipeline(role);
        take_best(&best, &c);
    }
    kill(role, SIGKILL);
    waitpid(role, NULL, 0);
    return report(bare, one, &best,
                  argc > 1 && strcmp(argv[1], "--check") == 0);
}
