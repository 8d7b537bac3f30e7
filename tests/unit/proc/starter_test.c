/*
 * Programs that a starter runs: /bin/sh, and what it starts.
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

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "starter_help.h"

static struct {
    char output[4096]; /* of the last program */
    size_t output_len;
} own;

static const struct str programs[] = {
    { "/bin/sh", 7 },
    { "/nowhere/at/all", 15 },
    { "/etc/passwd", 11 },
};
static const struct str folders[] = { { "/", 1 }, { "/usr", 4 } };
static const char *const no_texts[] = { NULL };

static int
begin_in(const struct sandbox *sandbox)
{
    struct starter_options o = {
        .programs = programs,
        .program_count = 3,
        .folders = folders,
        .folder_count = 2,
        .sandbox = sandbox,
    };

    return open_starter(&o);
}

static int
begin(void **state)
{
    static const struct sandbox none = { .kind = SANDBOX_PROGRAM };

    (void)state;
    umask(0);
    return begin_in(&none);
}

/* It may execute what lies below /usr, and write nowhere. */
static int
begin_in_sandbox(void **state)
{
    static struct rights rights;
    static const struct sandbox narrow = {
        .kind = SANDBOX_PROGRAM,
        .seccomp = SANDBOX_SECCOMP_ENFORCE,
        .landlock = true,
        .capabilities = true,
        .rights = &rights,
    };
    int rc;

    (void)state;
    rights_execute(&rights, STR("/usr"));
    rights_execute(&rights, STR("/bin"));
    rights_execute(&rights, STR("/lib"));
    rights_execute(&rights, STR("/lib64"));
    rights_read(&rights, STR("/dev"));
    rc = begin_in(&narrow);
    rights_clear(&rights);
    return rc;
}

static int
finish(void **state)
{
    (void)state;
    starter_free(&t.starter);
    loop_free(&t.loop);
    /* What it left would be ours, as it is the master's. */
    assert_int_equal(wait(NULL) > 0, 1); /* the starter itself */
    assert_int_equal(wait(NULL), -1);
    return 0;
}

static struct starter_run *
run_with(const char *script, int output, struct program_limits limits)
{
    const char *const arguments[] = { "sh", "-c", script, NULL };
    const char *const environment[] = { "PATH=/usr/bin:/bin", "A=b c", NULL };
    int files[] = { -1, output, -1 };
    const struct program p = {
        .folder = 1,
        .arguments = arguments,
        .environment = environment,
        .files = files,
        .file_count = 3,
        .limits = limits,
        .on_start = on_start,
        .on_end = on_end,
    };
    struct errmsg err;

    return starter_run(t.starter, &p, &err);
}

static struct starter_run *
begin_script(const char *script, struct program_limits limits, int *output)
{
    int ends[2];
    struct starter_run *run;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    run = run_with(script, ends[1], limits);
    assert_non_null(run);
    *output = ends[0];
    return run;
}

static void
read_all(int fd)
{
    ssize_t n;

    own.output_len = 0;
    while ((n = read(fd, own.output + own.output_len,
                     sizeof(own.output) - 1 - own.output_len)) > 0) {
        own.output_len += (size_t)n;
    }
    own.output[own.output_len] = '\0';
    close(fd);
}

/* Its output; t.end is its end. */
static const char *
output_of(const char *script, struct program_limits limits)
{
    unsigned before = t.ended;
    int fd;

    begin_script(script, limits, &fd);
    wait_until(&t.ended, before + 1);
    read_all(fd);
    return own.output;
}

static const struct program_limits none;

/* A line, "12", of what a script writes while it runs. */
static pid_t
read_pid(int fd)
{
    char text[32];
    size_t len = 0;
    int64_t number = 0;

    while (len < sizeof(text) - 1 && read(fd, text + len, 1) == 1 &&
           text[len] != '\n') {
        len++;
    }
    assert_true(str_to_int(str_of(text, len), 2, INT32_MAX, &number));
    return (pid_t)number;
}

static bool
is_there(pid_t pid)
{
    return kill(pid, 0) == 0 || errno == EPERM;
}

static void
wait_for_end_of(pid_t pid)
{
    int64_t end = clock_ms() + PATIENCE;

    assert_true(pid > 1);
    while (is_there(pid)) {
        assert_true(clock_ms() < end);
        waitpid(pid, NULL, WNOHANG); /* it may have fallen to us */
        usleep(1000);
    }
}

/* ---- what a program gets ---- */

static void
a_program_runs(void **state)
{
    (void)state;
    assert_string_equal(output_of("pwd; echo $A; exit 3", none), "/usr\nb c\n");
    assert_true(t.end.started && WIFEXITED(t.end.status));
    assert_int_equal(WEXITSTATUS(t.end.status), 3);
    assert_int_equal(t.started, 1);
    assert_true(t.end.memory > 0 && t.end.user_us + t.end.system_us > 0);
    assert_string_equal(t.why, "");
    assert_int_equal(starter_running(t.starter), 0);
}

static void
nothing_is_inherited(void **state)
{
    (void)state;
    setenv("SECRET_OF_WEIR", "x", 1);
    assert_string_equal(output_of("env | grep -v ^PWD= | sort", none),
                        "A=b c\nPATH=/usr/bin:/bin\n");
    assert_string_equal(output_of("ls /proc/self/fd | tr '\\n' ' '", none),
                        "0 1 2 3 "); /* 3: of the folder */
    assert_string_equal(
        output_of("readlink /proc/self/fd/0 /proc/self/fd/2", none),
        "/dev/null\n/dev/null\n");
    assert_string_equal(
        output_of("grep -E '^(Sig(Blk|Ign)|Cap(Prm|Eff|Bnd|Amb)|NoNew)' "
                  "/proc/self/status | cut -f2 | sort -u",
                  none),
        geteuid() == 0 ? "0000000000000000\n1\n" : own.output);
    assert_non_null(strstr(own.output, "0000000000000000\n"));
    assert_non_null(strstr(own.output, "1\n"));
}

static void
it_has_a_user_of_its_own(void **state)
{
    struct privilege_ids ids = program_ids();
    char expected[64];

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    snprintf(expected, sizeof(expected), "%u %u %u\n", (unsigned)ids.uid,
             (unsigned)ids.gid, (unsigned)ids.gid);
    assert_string_equal(output_of("echo $(id -u) $(id -g) $(id -G)", none),
                        expected);
    assert_int_not_equal(ids.uid, role_ids().uid);
    /* Neither its starter nor us can it signal. */
    output_of("kill -9 $PPID 2>/dev/null && echo killed", none);
    assert_string_equal(own.output, "");
    assert_int_equal(t.gone, 0);
}

static void
it_is_in_its_sandbox(void **state)
{
    (void)state;
    assert_string_equal(output_of("/usr/bin/env true && echo ran", none),
                        "ran\n");
    assert_string_equal(
        output_of("unshare -U true 2>/dev/null || echo refused", none),
        sandbox_is_wide() ? own.output : "refused\n");
    if (sandbox_is_wide() || sandbox_landlock_version() < SANDBOX_HOLDS_FILES) {
        print_message("not run: files that are out of reach\n");
        return;
    }
    assert_string_equal(
        output_of("cat /etc/passwd 2>/dev/null; echo x 2>/dev/null "
                  ">/tmp/weir-starter-test || echo refused",
                  none),
        "refused\n");
}

static void
a_program_that_cannot_be_says_why(void **state)
{
    static const char *const arguments[] = { "x", NULL };
    struct program p = { .number = 1,
                         .arguments = arguments,
                         .environment = no_texts,
                         .on_start = on_start,
                         .on_end = on_end };
    struct errmsg err;

    (void)state;
    assert_non_null(starter_run(t.starter, &p, &err));
    wait_until(&t.ended, 1);
    assert_false(t.end.started);
    assert_string_equal(t.why, "cannot execute /nowhere/at/all: "
                               "No such file or directory");
    p.number = 2;
    assert_non_null(starter_run(t.starter, &p, &err));
    wait_until(&t.ended, 2);
    assert_string_equal(t.why, "cannot execute /etc/passwd: Permission denied");
    assert_int_equal(t.started, 0);
}

/* ---- limits ---- */

static void
limits_hold(void **state)
{
    (void)state;
    output_of(
        "ulimit -n; ulimit -c; ulimit -v; ulimit -t; ulimit -f",
        (struct program_limits){
            .memory = 1 << 30, .cpu = 7, .files = 50, .file_size = 1 << 20 });
    assert_string_equal(own.output, "50\n0\n1048576\n7\n2048\n");
    output_of("ulimit -n; ulimit -c; umask", none);
    assert_string_equal(own.output, "1024\n0\n0022\n");
    output_of("grep -c 'processes *5000 *5000' /proc/self/limits",
              (struct program_limits){ .processes = 5000 });
    assert_string_equal(own.output, geteuid() == 0 ? "1\n" : "0\n");
    output_of("while :; do :; done", (struct program_limits){ .cpu = 1 });
    assert_true(WIFSIGNALED(t.end.status));
    assert_int_equal(WTERMSIG(t.end.status), SIGXCPU);
}

/* The test may be nice itself. */
static void
it_is_as_nice_as_asked_or_as_it_was(void **state)
{
    int was = getpriority(PRIO_PROCESS, 0);
    char text[16];

    (void)state;
    for (int nice = was > 1 ? was - 1 : 1;
         nice <= was + 2 && nice <= PROGRAM_NICE_MAX; nice++) {
        snprintf(text, sizeof(text), "%d\n", nice > was ? nice : was);
        output_of("nice", (struct program_limits){ .nice = nice });
        assert_string_equal(own.output, text);
    }
}

static int
begin_nicely(void **state)
{
    assert_int_equal(
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5), 0);
    return begin(state);
}

static void
not_more_than_a_number_run(void **state)
{
    struct starter_run *runs[STARTER_RUNS];

    (void)state;
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        runs[i] = run_with("exec sleep 1000", -1, none);
        assert_non_null(runs[i]);
    }
    assert_null(run_with("true", -1, none));
    assert_int_equal(starter_running(t.starter), STARTER_RUNS);
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        starter_signal(runs[i], SIGTERM);
    }
    wait_until(&t.ended, STARTER_RUNS);
    assert_int_equal(WTERMSIG(t.end.status), SIGTERM);
}

static void
what_is_too_much_is_refused(void **state)
{
    const char *many[PROGRAM_TEXTS + 2];
    struct program p = { .arguments = many,
                         .environment = no_texts,
                         .on_end = on_end };
    struct errmsg err;
    static char large[70000];

    (void)state;
    for (size_t i = 0; i <= PROGRAM_TEXTS; i++) {
        many[i] = "x";
    }
    many[PROGRAM_TEXTS + 1] = NULL;
    assert_null(starter_run(t.starter, &p, &err));
    memset(large, 'x', sizeof(large) - 1);
    many[1] = large;
    many[2] = NULL;
    assert_null(starter_run(t.starter, &p, &err));
    assert_int_equal(starter_running(t.starter), 0);
}

/* ---- ends ---- */

/* Its session, who left that, and who lost all parents. */
#define DAEMONS                                                  \
    "sleep 1000 & echo $!; setsid sh -c 'sleep 1000 & echo $!; " \
    "exec sleep 1000' & sleep 1000 & wait"

static void
a_run_ends_with_all_it_started(void **state)
{
    struct starter_run *run;
    pid_t near, far;
    int fd;

    (void)state;
    run = begin_script(DAEMONS, none, &fd);
    near = read_pid(fd);
    far = read_pid(fd);
    assert_true(is_there(near) && is_there(far));
    starter_signal(run, SIGKILL);
    wait_until(&t.ended, 1);
    assert_false(is_there(near) || is_there(far));
    assert_int_equal(WTERMSIG(t.end.status), SIGKILL);
    close(fd);
}

static void
a_daemon_is_gone_with_its_program(void **state)
{
    pid_t daemon;
    int fd;

    (void)state;
    begin_script("echo $(setsid sh -c 'sleep 1000 >/dev/null & echo $!'); "
                 "exit 5",
                 none, &fd);
    daemon = read_pid(fd);
    wait_until(&t.ended, 1);
    assert_false(is_there(daemon));
    assert_int_equal(WEXITSTATUS(t.end.status), 5);
    close(fd);
}

/* Of its session, but of another group than the program, which ends by itself:
 * no signal to the group reaches it. */
static void
a_job_is_gone_with_its_program(void **state)
{
    pid_t job;
    int fd;

    (void)state;
    begin_script("bash -c 'set -m; sleep 1000 >/dev/null & echo $!'; exit 5",
                 none, &fd);
    job = read_pid(fd);
    wait_until(&t.ended, 1);
    assert_false(is_there(job));
    assert_int_equal(WEXITSTATUS(t.end.status), 5);
    close(fd);
}

/* The same, while the program runs: it is the program's business. */
static void
a_job_stays_with_its_program(void **state)
{
    struct starter_run *run;
    pid_t job;
    int fd;

    (void)state;
    run = begin_script("bash -c 'set -m; sleep 1000 >/dev/null & echo $!'; "
                       "sleep 1; echo 2; exec sleep 1000",
                       none, &fd);
    job = read_pid(fd);
    assert_int_equal(read_pid(fd), 2); /* it was looked at twice */
    assert_true(is_there(job));
    starter_forget(&run);
    wait_for_end_of(job);
    close(fd);
}

/* The program goes on meanwhile. */
static void
a_daemon_goes_while_its_program_runs(void **state)
{
    struct starter_run *run;
    pid_t daemon;
    int fd;

    (void)state;
    /* Its number is known before it may be killed. */
    run = begin_script("echo $(setsid sh -c 'sleep 1000 >/dev/null & echo "
                       "$!'); exec sleep 1000",
                       none, &fd);
    daemon = read_pid(fd);
    wait_for_end_of(daemon);
    assert_int_equal(t.ended, 0);
    starter_forget(&run);
    close(fd);
}

static void
a_forgotten_run_is_not_told_of(void **state)
{
    struct starter_run *run;
    pid_t pid;
    int fd;

    (void)state;
    run = begin_script("echo $$; exec sleep 1000", none, &fd);
    pid = read_pid(fd);
    starter_forget(&run);
    wait_for_end_of(pid);
    output_of("true", none);
    assert_int_equal(t.ended, 1);
    assert_int_equal(starter_running(t.starter), 0);
    close(fd);
}

static pid_t
parent_of(pid_t pid)
{
    char path[64], text[512];
    FILE *f;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    sscanf(strrchr(text, ')') + 1, " %*c %d", &parent);
    return parent;
}

static void
all_end_with_the_starter(void **state)
{
    pid_t program;
    struct errmsg err;
    const struct program p = { .arguments = no_texts,
                               .environment = no_texts,
                               .on_end = on_end };
    int fd;

    (void)state;
    begin_script("echo $$; exec sleep 1000", none, &fd);
    program = read_pid(fd);
    wait_until(&t.started, 1);
    assert_int_equal(t.pid, program);
    kill(parent_of(program), SIGKILL);
    wait_until(&t.gone, 1);
    assert_int_equal(t.ended, 1);
    assert_true(t.end.started);
    assert_string_equal(t.why, "the starter has ended");
    assert_true(t.end.lost);
    assert_true(starter_is_gone(t.starter));
    wait_for_end_of(program);
    assert_null(starter_run(t.starter, &p, &err));
    close(fd);
}

static void
all_end_when_the_role_is_done(void **state)
{
    pid_t near, far;
    int fd;

    (void)state;
    begin_script(DAEMONS, none, &fd);
    near = read_pid(fd);
    far = read_pid(fd);
    starter_free(&t.starter);
    assert_false(is_there(near) || is_there(far));
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_runs),
        TEST(nothing_is_inherited),
        TEST(it_has_a_user_of_its_own),
        cmocka_unit_test_setup_teardown(it_is_in_its_sandbox, begin_in_sandbox,
                                        finish),
        TEST(a_program_that_cannot_be_says_why),
        TEST(limits_hold),
        TEST(not_more_than_a_number_run),
        TEST(what_is_too_much_is_refused),
        TEST(a_run_ends_with_all_it_started),
        TEST(a_daemon_is_gone_with_its_program),
        TEST(a_job_is_gone_with_its_program),
        TEST(a_job_stays_with_its_program),
        TEST(a_daemon_goes_while_its_program_runs),
        TEST(a_forgotten_run_is_not_told_of),
        TEST(all_end_with_the_starter),
        TEST(all_end_when_the_role_is_done),
        TEST(it_is_as_nice_as_asked_or_as_it_was),
        cmocka_unit_test_setup_teardown(it_is_as_nice_as_asked_or_as_it_was,
                                        begin_nicely, finish), /* the last */
    };

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* as the master is */
    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
