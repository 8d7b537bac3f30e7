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

#include "proc/cgroup_impl.h"

#include <errno.h>
#include <fcntl.h>
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

/* In the place of the kernel's table of mounts; NULL: that one. */
static const char *mounts;

/* All of this program come here. */
FILE *
fopen(const char *restrict path, const char *restrict mode)
{
    int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, fd;
    const char *text = NULL;

    if (mounts != NULL && strcmp(path, "/proc/self/mountinfo") == 0) {
        text = mounts;
    } else if (mounts != NULL && strcmp(path, "/proc/self/cgroup") == 0) {
        text = "0::/\n";
    }
    if (text != NULL) {
        return fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    }
    fd = open(path, flags | O_CLOEXEC, 0666);
    return fd == -1 ? NULL : fdopen(fd, mode[0] == 'r' ? "r" : "w");
}

#define GOOD LINE("/", "/nowhere/weir", "cgroup2") "\n"

/* The end of a line is none, whatever stands there. */
static void
a_line_that_is_too_long_is_passed_over(void **state)
{
    static char text[4 * PATH_MAX];
    char path[PATH_MAX];
    struct errmsg err;

    (void)state;
    mounts = GOOD;
    assert_int_equal(cgroup_find(path, &err), -1);
    assert_string_equal(path, "/nowhere/weir");
    mounts = text;
    for (size_t len = PATH_MAX + 1023; len < PATH_MAX + 2048; len++) {
        memset(text, 'x', len);
        str_copy(text + len, sizeof(text) - len, STR(GOOD));
        assert_int_equal(cgroup_find(path, &err), -1);
        assert_non_null(strstr(err.text, "no hierarchy of cgroups"));
    }
    mounts = NULL;
}

/* ---- cgroups of this kernel ---- */

static const struct cgroup_limits limits = { .memory = 64 << 20,
                                             .tasks = 3,
                                             .nice = 5 };
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
    assert_int_equal(cgroup_begin(&none, &limits, &join), 0);
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
    run = cgroup_begin(&g, &limits, &join);
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
    assert_int_equal(cgroup_begin(&g, &limits, &join), 2);
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
    cgroup_begin(&g, &limits, &join);
    close(join);
    cgroup_begin(&g, &limits, &join);
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
    cgroup_begin(&g, &limits, &join);
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
        if (cgroup_make(&g, &err) == 0 &&
            cgroup_begin(&g, &limits, &join) == 1) {
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

/* Somebody else's, which begins like ours. */
static void
what_has_no_number_stays(void **state)
{
    char path[PATH_MAX + 16];

    (void)state;
    if (g.folder == -1) {
        return;
    }
    snprintf(path, sizeof(path), "%.*s.t%d",
             (int)(strrchr(g.path, '.') - g.path), g.path, (int)getpid());
    assert_int_equal(mkdir(path, 0755), 0);
    cgroup_sweep(ENOUGH_MS);
    assert_int_equal(rmdir(path), 0);
}

/* ---- controllers ---- */

static void
expect_text(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX + 64], line[64] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    fclose(f);
    assert_string_equal(line, text);
}

static void
need_controllers(void)
{
    if (g.folder == -1 || g.controllers[0] == '\0') {
        print_message("not run: no controllers are delegated\n");
        skip();
    }
}

static void
a_run_has_limits(void **state)
{
    char path[PATH_MAX + 16];
    int join;

    (void)state;
    need_controllers();
    assert_int_equal(cgroup_begin(&g, &limits, &join), 1);
    close(join);
    snprintf(path, sizeof(path), "%s/1", g.path);
    if (strstr(g.controllers, "memory") != NULL) {
        expect_text(path, "memory.max", "67108864\n");
        expect_text(path, "memory.oom.group", "1\n");
    }
    if (strstr(g.controllers, "pids") != NULL) {
        expect_text(path, "pids.max", "3\n");
    }
    if (strstr(g.controllers, "cpu") != NULL) {
        expect_text(g.path, "cpu.weight.nice", "5\n");
    }
}

/* Its own is another one for this. */
static char settled[PATH_MAX];

static void
enter(char dst[static PATH_MAX])
{
    char path[PATH_MAX + 16];
    FILE *f;

    snprintf(dst, PATH_MAX, "%.*s.settle",
             (int)(strrchr(g.path, '/') + strlen("/weir") - g.path), g.path);
    assert_int_equal(mkdir(dst, 0755), 0);
    snprintf(path, sizeof(path), "%s/cgroup.procs", dst);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("0", f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int
settle_twice(void)
{
    struct errmsg err;
    char path[PATH_MAX];
    bool alone = cgroup_settle(&err) == 0 && cgroup_settle(&err) == 0;

    return alone && cgroup_find(path, &err) == 0 && strcmp(path, settled) == 0
               ? 0
               : 1;
}

/* One that is alone settles, if there is something to hand on; one that is not
 * stays.  Both find the folder where runs are. */
static void
settle_in_own(bool alone)
{
    char path[PATH_MAX + 16];
    bool moves = alone && g.controllers[0] != '\0';
    int status, told[2], hold[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(told) + pipe(hold), 0);
    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        enter(settled);
        if (!alone && fork() == 0) {
            pause();
        }
        byte = (char)settle_twice();
        (void)!write(told[1], &byte, 1);
        (void)!read(hold[0], &byte, 1);
        kill(0, SIGKILL);
    }
    setpgid(pid, pid);
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(byte, 0);
    snprintf(settled, sizeof(settled), "%.*s.settle",
             (int)(strrchr(g.path, '/') + strlen("/weir") - g.path), g.path);
    snprintf(path, sizeof(path), "%s/weir.main", settled);
    assert_int_equal(is_there(path), moves);
    kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rmdir(path);
    while (rmdir(settled) == -1 && errno == EBUSY) {
        usleep(1000);
    }
    close(told[0]);
    close(told[1]);
    close(hold[0]);
    close(hold[1]);
}

static void
one_that_is_alone_settles(void **state)
{
    (void)state;
    if (g.folder != -1) {
        settle_in_own(true);
    }
}

static void
one_among_others_stays(void **state)
{
    (void)state;
    if (g.folder != -1) {
        settle_in_own(false);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_found),
        cmocka_unit_test(a_path_has_a_bound),
        cmocka_unit_test(a_line_that_is_too_long_is_passed_over),
        cmocka_unit_test(nothing_is_done_without),
        TEST(a_run_is_killed),
        TEST(all_runs_end),
        TEST(what_is_locked_stays),
        TEST(what_is_left_over_goes),
        TEST(what_has_no_number_stays),
        TEST(a_run_has_limits),
        TEST(one_that_is_alone_settles),
        TEST(one_among_others_stays),
    };

    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
