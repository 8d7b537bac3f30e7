/*
 * Where the kernel lets us make cgroups, they are made; else it has to say why
 * it does not.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "proc/cgroup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define ENOUGH_MS 120000

/* ---- where it is ---- */

#define LINE(root, point, type) \
    "38 31 0:41 " root " " point " rw,relatime shared:9 - " type " x rw"

static void
a_path_is_found(void **state)
{
    static const struct {
        const char *line, *own, *path;
    } rows[] = {
        { LINE("/", "/sys/fs/cgroup", "cgroup2"), "/", "/sys/fs/cgroup" },
        { LINE("/", "/sys/fs/cgroup", "cgroup2"), "/a/b.service",
          "/sys/fs/cgroup/a/b.service" },
        { "38 31 0:41 / /c rw - cgroup2 none rw", "/", "/c" },
        /* A container's mount shows its own part. */
        { LINE("/docker/12", "/c", "cgroup2"), "/docker/12", "/c" },
        { LINE("/docker/12", "/c", "cgroup2"), "/docker/12/a", "/c/a" },
        { LINE("/docker/12", "/c", "cgroup2"), "/docker/123", NULL },
        { LINE("/docker/12", "/c", "cgroup2"), "/docker", NULL },
        { LINE("/docker/12", "/c", "cgroup2"), "/", NULL },
        /* Outside of the name space. */
        { LINE("/", "/c", "cgroup2"), "/../a", NULL },
        { LINE("/..", "/c", "cgroup2"), "/..", NULL },
        { LINE("/..", "/c", "cgroup2"), "/a", NULL },
        { LINE("/", "/a\\040b", "cgroup2"), "/", NULL },
        { LINE("/", "/c", "cgroup"), "/", NULL },
        { LINE("/", "/c", "ext4"), "/", NULL },
        { "38 31 0:41 / /c rw cgroup2", "/", NULL },
        { "38 31 0:41 / /c rw -", "/", NULL },
        { "38 31", "/", NULL },
        { "", "/", NULL },
        { LINE("/", "/c", "cgroup2"), "", NULL },
        { LINE("x", "/c", "cgroup2"), "/x", NULL },
    };
    char path[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool found =
            cgroup_path(str_from(rows[i].line), str_from(rows[i].own), path);

        assert_int_equal(found, rows[i].path != NULL);
        if (found) {
            assert_string_equal(path, rows[i].path);
        }
    }
}

static void
a_path_has_a_bound(void **state)
{
    static char line[3 * PATH_MAX], own[PATH_MAX], path[PATH_MAX];

    (void)state;
    memset(own, 'x', sizeof(own) - 1);
    own[0] = '/';
    snprintf(line, sizeof(line), LINE("/", "/%s", "cgroup2"), own);
    assert_false(cgroup_path(str_from(line), str_from(own), path));
    snprintf(line, sizeof(line), LINE("/", "/c", "cgroup2"));
    assert_false(cgroup_path(str_from(line), str_from(own), path));
    assert_true(cgroup_path(str_from(line), str_of(own, PATH_MAX - 3), path));
}

/* ---- cgroups of this kernel ---- */

static struct cgroup g;
static pid_t inside; /* a process of a run; 0: none */

static bool
is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

/* Another weir of this machine may sweep meanwhile, and have the lock. */
static void
sweep_until_gone(const char *path)
{
    int64_t end = clock_ms() + ENOUGH_MS;

    do {
        assert_true(clock_ms() < end);
        cgroup_sweep(ENOUGH_MS);
    } while (is_there(path));
}

static int
begin(void **state)
{
    struct errmsg err = { "" };

    (void)state;
    inside = 0;
    if (cgroup_make(&g, &err) == 0) {
        assert_true(is_there(g.path));
        return 0;
    }
    assert_int_equal(g.folder, -1);
    assert_true(strstr(err.text, "cannot make /") == err.text ||
                strstr(err.text, "no hierarchy of cgroups") == err.text ||
                strstr(err.text, "is a cgroup of threads") != NULL);
    print_message("not run: %s\n", err.text);
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    if (inside > 0) {
        kill(inside, SIGKILL);
        waitpid(inside, NULL, 0);
    }
    cgroup_end(&g, ENOUGH_MS);
    sweep_until_gone(g.path);
    return 0;
}

/* A process that says when it is in the run's cgroup, and sleeps. */
static pid_t
fork_inside(int join)
{
    int ends[2];
    char said;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        cgroup_join(&g, join);
        setsid();
        (void)!write(ends[1], "x", 1);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ends[0], &said, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void
nothing_is_done_without(void **state)
{
    struct cgroup none = { .folder = -1, .owner = geteuid() };
    int join = 0;

    (void)state;
    assert_int_equal(cgroup_begin(&none, &join), 0);
    assert_int_equal(join, -1);
    cgroup_join(&none, join);
    cgroup_kill(&none, 0);
    assert_true(cgroup_remove(&none, 0));
    cgroup_end(&none, 0);
}

static void
a_run_is_killed(void **state)
{
    int join, status;
    unsigned run;

    (void)state;
    if (g.folder == -1) {
        return;
    }
    run = cgroup_begin(&g, &join);
    assert_int_equal(run, 1);
    inside = fork_inside(join);
    close(join);
    assert_false(cgroup_remove(&g, run));
    cgroup_kill(&g, run);
    assert_int_equal(waitpid(inside, &status, 0), inside);
    assert_int_equal(status, SIGKILL);
    inside = 0;
    assert_true(cgroup_remove(&g, run));
    assert_true(cgroup_remove(&g, run)); /* there is none */
    assert_int_equal(cgroup_begin(&g, &join), 2);
    close(join);
}

static void
all_runs_end(void **state)
{
    int join, status;

    (void)state;
    if (g.folder == -1) {
        return;
    }
    cgroup_begin(&g, &join);
    close(join);
    cgroup_begin(&g, &join);
    inside = fork_inside(join);
    close(join);
    cgroup_end(&g, ENOUGH_MS);
    assert_int_equal(waitpid(inside, &status, 0), inside);
    assert_int_equal(status, SIGKILL);
    inside = 0;
}

static void
what_is_locked_stays(void **state)
{
    int join;
    char path[PATH_MAX + 8];

    (void)state;
    if (g.folder == -1) {
        return;
    }
    cgroup_begin(&g, &join);
    inside = fork_inside(join);
    close(join);
    cgroup_sweep(ENOUGH_MS);
    assert_int_equal(kill(inside, 0), 0);
    snprintf(path, sizeof(path), "%s/1", g.path);
    assert_true(is_there(path));
}

/* Its maker is killed, and the process that it left is nobody's child. */
static void
what_is_left_over_goes(void **state)
{
    char path[PATH_MAX];
    pid_t maker;
    int status, join, ends[2];

    (void)state;
    if (g.folder == -1) {
        return;
    }
    assert_int_equal(pipe(ends), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    maker = fork();
    if (maker == 0) {
        struct errmsg err;

        close(g.folder);
        if (cgroup_make(&g, &err) == 0 && cgroup_begin(&g, &join) == 1) {
            inside = fork_inside(join);
            (void)!write(ends[1], &inside, sizeof(inside));
        }
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ends[0], &inside, sizeof(inside)), sizeof(inside));
    close(ends[0]);
    close(ends[1]);
    snprintf(path, sizeof(path), "%.*s.%d",
             (int)(strrchr(g.path, '.') - g.path), g.path, (int)maker);
    assert_true(is_there(path));
    cgroup_sweep(ENOUGH_MS);
    assert_int_equal(kill(inside, 0), 0);
    kill(maker, SIGKILL);
    assert_int_equal(waitpid(maker, NULL, 0), maker);
    sweep_until_gone(path);
    assert_int_equal(waitpid(inside, &status, 0), inside);
    assert_int_equal(status, SIGKILL);
    inside = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_found),
        cmocka_unit_test(a_path_has_a_bound),
        cmocka_unit_test(nothing_is_done_without),
        TEST(a_run_is_killed),
        TEST(all_runs_end),
        TEST(what_is_locked_stays),
        TEST(what_is_left_over_goes),
    };

    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
