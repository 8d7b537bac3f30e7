/*
 * Runs of /bin/sh in cgroups, below a starter in a sandbox; where the kernel
 * lets us make none, they run without.
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

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/cgroup.h"
#include "starter_help.h"

static struct {
    struct starter_run *run;
    char folder[PATH_MAX]; /* of the starter's cgroups; "": there are none */
} own;

/* Another weir of this machine may sweep meanwhile, and have the lock. */
static void
sweep_until_gone(const char *path)
{
    int64_t end = clock_ms() + PATIENCE;

    do {
        assert_true(clock_ms() < end);
        cgroup_sweep(PATIENCE);
    } while (path[0] != '\0' && access(path, F_OK) == 0);
}

/* The starter of this process will have the same. */
static void
find_folder(void)
{
    struct cgroup g;
    struct errmsg err;

    if (cgroup_make(&g, &err) == -1) {
        print_message("not run: %s\n", err.text);
        return;
    }
    cgroup_leave(&g);
    sweep_until_gone(g.path);
    memcpy(own.folder, g.path, sizeof(own.folder));
}

static int
start_starter(const struct rights *rights)
{
    static const struct str programs[] = { { "/bin/sh", 7 } };
    static const struct str folders[] = { { "/", 1 } };
    const struct sandbox narrow = {
        .kind = SANDBOX_PROGRAM,
        .seccomp = SANDBOX_SECCOMP_ENFORCE,
        .landlock = true,
        .capabilities = true,
        .rights = rights,
    };
    struct starter_options o = {
        .programs = programs,
        .program_count = 1,
        .folders = folders,
        .folder_count = 1,
        .sandbox = &narrow,
        .cgroups = true,
    };

    return open_starter(&o);
}

static void
run_script(const char *script)
{
    const char *const arguments[] = { "sh", "-c", script, NULL };
    const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    const struct program p = {
        .arguments = arguments,
        .environment = environment,
        .on_start = on_start,
        .on_end = on_end,
    };
    struct errmsg err;

    own.run = starter_run(t.starter, &p, &err);
    assert_non_null(own.run);
    wait_until(&t.started, 1);
}

static int
begin(void **state)
{
    static const char *const paths[] = { "/usr", "/bin", "/lib", "/lib64" };
    struct rights rights = { .fork = true };
    int rc;

    (void)state;
    memset(&own, 0, sizeof(own));
    find_folder();
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        rights_execute(&rights, str_from(paths[i]));
    }
    rc = start_starter(&rights);
    rights_clear(&rights);
    return rc;
}

static int
finish(void **state)
{
    (void)state;
    starter_free(&t.starter);
    loop_free(&t.loop);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    sweep_until_gone(own.folder);
    return 0;
}

static bool
is_in_the_cgroup(pid_t pid)
{
    char path[64], line[PATH_MAX], end[64];
    bool found = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    snprintf(end, sizeof(end), "%s/1\n", strrchr(own.folder, '/'));
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        found |= str_starts(str_from(line), STR("0::")) &&
                 str_ends(str_from(line), str_from(end));
    }
    fclose(f);
    return found;
}

/* The starter knows of it by the cgroup alone. */
static pid_t
fork_stranger(void)
{
    char path[PATH_MAX + 32];
    FILE *f;
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    snprintf(path, sizeof(path), "%s/1/cgroup.procs", own.folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%d", (int)pid);
    assert_int_equal(fclose(f), 0);
    return pid;
}

static void
assert_was_killed(pid_t stranger)
{
    int status;

    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_int_equal(status, SIGKILL);
}

static void
all_in_the_cgroup_end_with_the_run(void **state)
{
    char path[PATH_MAX + 8];
    pid_t stranger;

    (void)state;
    run_script("exec sleep 1000");
    if (own.folder[0] == '\0') {
        return;
    }
    assert_true(is_in_the_cgroup(t.pid));
    stranger = fork_stranger();
    starter_signal(own.run, SIGKILL);
    wait_until(&t.ended, 1);
    assert_true(t.end.started);
    assert_was_killed(stranger);
    snprintf(path, sizeof(path), "%s/1", own.folder);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(own.folder, F_OK), 0);
}

static void
all_end_when_the_role_is_done(void **state)
{
    pid_t stranger;

    (void)state;
    run_script("exec sleep 1000");
    if (own.folder[0] == '\0') {
        return;
    }
    stranger = fork_stranger();
    starter_free(&t.starter);
    assert_was_killed(stranger);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_in_the_cgroup_end_with_the_run),
        TEST(all_end_when_the_role_is_done),
    };

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* as the master is */
    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
