/*
 * Runs of an engine that is a shell script, through a real starter: what they
 * say, how they end, and that nothing stays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "fetcher/run_help.h"
#include "proc/offspring.h"

#define SAID_MAX 8192 /* bytes of an environment */

/* ---- downloads ---- */

static void
test_download_is_told_and_found(void **state)
{
    (void)state;
    run_to_end("http://h/good");
    assert_true(t.result.finished);
    assert_string_equal(t.file, "media.mp4");
    assert_string_equal(t.msg, "");
    assert_string_equal(t.name, "My Feed/A name..mp4");
    assert_non_null(strstr(t.statuses, "postprocessing "));
    assert_int_equal(t.last.percent, 25000);
}

static void
test_failures_say_why(void **state)
{
    static const char *const rows[][2] = {
        { "http://h/fail", "ERROR: no, x" }, /* no path of weir */
        { "http://h/nothing", "The engine has made no file." },
        { "http://h/lies", "The engine has made no file." },
        { "http://h/list",
          "This is a list of 3; add its address to have them all." },
        { "http://h/killed", "The engine was ended by signal 9." },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        t.ended = false;
        t.e.number = (int64_t)i + 1;
        run_to_end(rows[i][0]);
        assert_false(t.result.finished);
        assert_false(t.result.canceled);
        assert_string_equal(t.msg, rows[i][1]);
        assert_string_equal(t.file, "");
    }
}

/* The picture beside a sound that was too large is not the sound. */
static void
test_other_file_is_not_taken(void **state)
{
    (void)state;
    t.facts.format = STR("mp3");
    t.q.plan.max_file_size = 5000;
    run_to_end("http://h/image");
    assert_false(t.result.finished);
    assert_string_equal(t.msg,
                        "The engine has made no file: there is none, or it is "
                        "larger than max_file_size, 5000 bytes.");
}

static void
test_thumbnail_that_was_not_named_is_found(void **state)
{
    (void)state;
    t.facts.format = STR("Thumbnail");
    run_to_end("http://h/image");
    assert_true(t.result.finished);
    assert_string_equal(t.file, "media.jpg");
}

static void
test_cancel_interrupts(void **state)
{
    (void)state;
    start("http://h/wait");
    WAIT_FOR(t.progressed);
    run_cancel(t.run);
    run_cancel(t.run);
    WAIT_FOR(t.ended);
    assert_true(t.result.canceled);
    assert_false(t.result.finished);
    assert_string_equal(t.msg, "ERROR: interrupted");
}

static void
test_abort_kills(void **state)
{
    (void)state;
    start("http://h/wait");
    WAIT_FOR(t.progressed);
    run_abort(t.run);
    WAIT_FOR(t.ended);
    assert_true(t.result.killed);
    assert_false(t.result.finished);
}

/* As when it is killed, so that it begins again: the engine has not failed. */
static void
test_run_that_goes_with_its_starter(void **state)
{
    pid_t starter;

    (void)state;
    start("http://h/wait");
    WAIT_FOR(t.progressed);
    assert_int_equal(offspring_list(&starter, 1), 1);
    t.may_be_gone = true;
    kill(starter, SIGKILL);
    WAIT_FOR(t.ended && t.gone);
    assert_true(t.result.killed);
    assert_false(t.result.finished || t.result.canceled);
}

static void
test_forgotten_run_calls_nobody(void **state)
{
    (void)state;
    start("http://h/wait");
    WAIT_FOR(t.progressed);
    run_forget(&t.run);
    assert_null(t.run);
    WAIT_FOR(starter_running(t.f.starter) == 0);
    assert_false(t.ended);
}

static void
read_environment(char text[SAID_MAX])
{
    int fd;

    run_to_end("http://h/environment");
    assert_string_equal(t.file, "media.txt");
    fd = open(path_of("downloads/.weir/7/media.txt").ptr, O_RDONLY | O_CLOEXEC);
    memset(text, 0, SAID_MAX);
    assert_true(read(fd, text, SAID_MAX - 1) > 0);
    close(fd);
}

static void
test_environment_is_bare(void **state)
{
    char text[SAID_MAX];

    (void)state;
    assert_int_equal(setenv("SECRET", "1", 1), 0);
    read_environment(text);
    assert_null(strstr(text, "SECRET"));
    assert_null(strstr(text, t.folder + 5)); /* but in PWD, OLDPWD of the sh */
    assert_non_null(strstr(text, "\nHOME=.\n"));
    assert_non_null(strstr(text, "http_proxy=http://run:"));
    assert_non_null(strstr(text, "FTP_PROXY=http://run:"));
    assert_non_null(strstr(text, " -- http://h/environment\n"));
}

static void
on_never(void *arg)
{
    (void)arg;
    fail();
}

static void
test_format_of_the_options_keeps_the_filter(void **state)
{
    static const char options[] = "--format 'b/w'\n";
    char text[SAID_MAX];

    (void)state;
    write_file("options", options, sizeof(options) - 1, 0644);
    t.q.options = options_new(t.f.loop, path_of("options"), on_never, NULL);
    read_environment(text);
    assert_non_null(strstr(text, " --format=(b/w)[protocol~='"));
    assert_null(strstr(text, " --format=b/w"));
    options_free(&t.q.options);
}

static void
test_no_descriptor_is_left(void **state)
{
    static const struct run_handlers handlers = { on_progress, on_end };
    struct rlimit had, none;
    struct errmsg err;
    bool later = false;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
    none = (struct rlimit){ 0, had.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    t.run = run_start(&t.e, &handlers, &t, &later, &err);
    setrlimit(RLIMIT_NOFILE, &had);
    assert_null(t.run);
    assert_true(later);
}

static void
test_engine_that_is_not_there(void **state)
{
    static const struct run_handlers handlers = { on_progress, on_end };
    struct errmsg err = { "" };
    bool later;

    (void)state;
    t.q.plan.engine_path = STR("/nowhere/yt-dlp");
    assert_null(run_start(&t.e, &handlers, &t, &later, &err));
    assert_false(later);
    assert_non_null(strstr(err.text, "/nowhere/yt-dlp"));
    WAIT_FOR(t.q.engine->error.len > 0);
    assert_int_equal(t.q.engine->version.len, 0);
    t.q.plan.engine_path = path_of("engine");
    fetch_engine_look(&t.q);
    WAIT_FOR(t.q.engine->version.len > 0);
    assert_string_equal(t.q.engine->version.ptr, "1.2.3");
    assert_int_equal(t.q.engine->error.len, 0);
}

static void
test_engine_without_a_version(void **state)
{
    (void)state;
    t.q.plan.engine_path = STR("/bin/false");
    fetch_engine_look(&t.q);
    WAIT_FOR(t.q.engine->error.len > 0);
    assert_non_null(strstr(t.q.engine->error.ptr, "(status 1)"));
}

/* ---- extractions ---- */

static void
on_found(void *arg, const struct extracted *x)
{
    assert_ptr_equal(arg, &t);
    assert_null(t.found);
    t.found = x;
}

static struct extraction *
look_at(const char *url)
{
    struct download_wish w = { .instance = STR_NONE,
                               .url = str_from(url),
                               .quality = STR("best"),
                               .format = STR("any"),
                               .folder = STR_NONE,
                               .prefix = STR_NONE,
                               .strict = -1,
                               .limit = -1 };
    struct errmsg err = { "" };
    struct extraction *x = extract_start(&t.q, &w, on_found, &t, &err);

    assert_string_equal(err.text, "");
    return x;
}

static void
assert_found(const char *url, bool ok, const char *said)
{
    struct extraction *x = look_at(url);

    t.found = NULL;
    WAIT_FOR(t.found != NULL);
    assert_int_equal(t.found->ok, ok);
    if (!ok) {
        assert_string_equal(t.found->msg.ptr, said);
    }
    extract_free(&x);
}

static void
test_extractions(void **state)
{
    (void)state;
    assert_found("http://h/film", true, "");
    assert_found("http://h/none", false, "ERROR: none");
    assert_found("http://h/killed", false, "The engine was ended by signal 9.");
}

static void
write_long_list(void)
{
    static char json[200000];
    size_t n = (size_t)snprintf(json, sizeof(json), "{\"entries\":[");

    for (int i = 0; i < 5000; i++) {
        n += (size_t)snprintf(json + n, sizeof(json) - n,
                              "{\"url\":\"http://h/%d\"},", i);
    }
    n += (size_t)snprintf(json + n - 1, sizeof(json) - n, "]}") - 1;
    write_file("long.json", json, n, 0644);
}

static void
test_long_extraction_is_read_on_a_thread(void **state)
{
    struct extraction *x;

    (void)state;
    write_long_list();
    x = look_at("http://h/long");
    WAIT_FOR(t.found != NULL);
    assert_true(t.found->ok);
    assert_int_equal(t.found->count, 5000);
    extract_free(&x);
}

static void
block(struct task *task)
{
    char byte;

    (void)task;
    assert_int_equal(read(t.blocked[0], &byte, 1), 0);
}

static void
on_blocked(struct task *task)
{
    (void)task;
    close(t.blocked[0]);
}

/* The proxy ends before the thread that has the extraction. */
static void
test_extraction_that_is_freed_while_it_is_read(void **state)
{
    struct task blocker = { .work = block, .done = on_blocked };
    struct extraction *x;

    (void)state;
    write_long_list();
    assert_int_equal(pipe2(t.blocked, O_CLOEXEC), 0);
    x = look_at("http://h/long");
    assert_int_equal(task_run(t.f.threads, &blocker), 0);
    WAIT_FOR(list_empty(&t.f.proxy->passes));
    assert_null(t.found);
    extract_free(&x);
    proxy_free(&t.f.proxy);
    close(t.blocked[1]);
    place_free(&t.q.place);
    task_threads_free(&t.f.threads);
    assert_null(t.found);
}

static void
test_extraction_that_is_canceled(void **state)
{
    struct extraction *x = look_at("http://h/wait");

    (void)state;
    WAIT_FOR(starter_running(t.f.starter) == 1);
    extract_cancel(x);
    WAIT_FOR(t.found != NULL);
    assert_false(t.found->ok);
    extract_free(&x);
    t.found = NULL;
    x = look_at("http://h/wait");
    extract_free(&x);
    WAIT_FOR(starter_running(t.f.starter) == 0);
    assert_null(t.found);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_download_is_told_and_found),
        TEST(test_failures_say_why),
        TEST(test_other_file_is_not_taken),
        TEST(test_thumbnail_that_was_not_named_is_found),
        TEST(test_cancel_interrupts),
        TEST(test_abort_kills),
        TEST(test_run_that_goes_with_its_starter),
        TEST(test_forgotten_run_calls_nobody),
        TEST(test_environment_is_bare),
        TEST(test_format_of_the_options_keeps_the_filter),
        TEST(test_engine_that_is_not_there),
        TEST(test_no_descriptor_is_left),
        TEST(test_engine_without_a_version),
        TEST(test_extractions),
        TEST(test_long_extraction_is_read_on_a_thread),
        TEST(test_extraction_that_is_freed_while_it_is_read),
        TEST(test_extraction_that_is_canceled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
