/*
 * Files as answers: with and without task threads, to slow clients, and when
 * client or file go in the middle.
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

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "event/task.h"
#include "serve.h"

#define SIZE 3000000

static struct loop *l;
static struct http_server server;
static struct client c;
static uint8_t *bytes; /* SIZE, what the file holds */
static int file;

static enum http_result
on_file(struct http_request *r, void *state)
{
    int64_t offset = 0;

    (void)state;
    str_to_int(r->query, 0, SIZE, &offset);
    return http_send_file(r, 200, "text/plain", dup(file), offset,
                          SIZE - offset);
}

static enum http_result
on_memory(struct http_request *r, void *state)
{
    (void)state;
    return http_send_memory(r, 200, "text/plain", dup(file), SIZE);
}

static const struct http_route routes[] = {
    { "GET", "/file", on_file, NULL },
    { "GET", "/memory", on_memory, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 100000,
      .layers = layers,
      .layer_count = 1 },
};

static int
make_file(void **state)
{
    (void)state;
    bytes = mem_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (uint8_t)(i * i >> 7);
    }
    return 0;
}

static int
free_file(void **state)
{
    (void)state;
    mem_free(&bytes);
    return 0;
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
    c = client_open(l, &server);
    file = memfd_create("file", MFD_CLOEXEC);
    return write(file, bytes, SIZE) == SIZE ? 0 : -1;
}

static int
set_up_threads(void **state)
{
    struct errmsg err;

    if (set_up(state) == -1) {
        return -1;
    }
    server.threads = task_threads_new(l, 2, 8, &err);
    return 0;
}

/* A disk file whose pages were dropped, read by threads. */
static int
set_up_cold(void **state)
{
    char path[] = "/var/tmp/weir-file-test-XXXXXX";
    struct errmsg err;

    if (set_up(state) == -1) {
        return -1;
    }
    close(file);
    file = mkstemp(path);
    unlink(path);
    server.threads = task_threads_new(l, 2, 8, &err);
    if (write(file, bytes, SIZE) != SIZE) {
        return -1;
    }
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    client_close(&c);
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(http_connections(), 0);
    task_threads_free(&server.threads);
    close(file);
    loop_free(&l);
    return 0;
}

static void
assert_file_comes(void)
{
    assert_true(client_hears(&c, "\r\n\r\n"));
    client_forget(&c, "Content-Length: 3000000\r\n\r\n");
    for (int64_t until = clock_ms() + PATIENCE_MS;
         buf_len(&c.got) < SIZE && clock_ms() < until;) {
        client_turn(&c, 65536);
    }
    assert_int_equal(buf_len(&c.got), SIZE);
    assert_memory_equal(buf_data(&c.got), bytes, SIZE);
    buf_take(&c.got, SIZE);
}

static void
test_file(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        client_say(&c, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_file_comes();
    }
}

static size_t
threads_of_process(void)
{
    DIR *d = opendir("/proc/self/task");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n - 2;
}

/* The first task would start them. */
static void
test_memory_needs_no_thread(void **state)
{
    size_t before = threads_of_process();

    (void)state;
    client_say(&c, "GET /memory HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_file_comes();
    assert_int_equal(threads_of_process(), before);
}

static void
test_slow_client(void **state)
{
    (void)state;
    client_say(&c, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 300; i++) {
        client_turn(&c, 1000);
    }
    assert_file_comes();
}

static void
test_head_and_part(void **state)
{
    (void)state;
    client_say(&c, "HEAD /file HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /file?2999999 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /file?3000000 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, " 404 "));
    client_forget(&c, "Content-Length: 3000000\r\n");
    client_forget(&c, "Content-Length: 1\r\n\r\n");
    assert_int_equal(*buf_data(&c.got), bytes[SIZE - 1]);
    client_forget(&c, "Content-Length: 0\r\n\r\n");
}

static void
test_client_goes(void **state)
{
    (void)state;
    client_say(&c, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
    client_turn(&c, 1000);
    client_close(&c);
    for (int i = 0; i < 6; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(http_connections(), 0);
}

/* Its length was promised: the client must notice. */
static void
test_file_shrinks(void **state)
{
    (void)state;
    client_say(&c, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
    client_turn(&c, 1000);
    assert_int_equal(ftruncate(file, 1000), 0);
    assert_true(client_hears_end(&c));
    assert_true(buf_len(&c.got) < SIZE);
}

/* The threads' queue is full: everybody gets the file all the same. */
static size_t
shortest(const struct client *clients, int n)
{
    size_t least = SIZE_MAX;

    for (int i = 0; i < n; i++) {
        size_t len = buf_len(&clients[i].got);

        least = len < least ? len : least;
    }
    return least;
}

static void
test_many_at_once(void **state)
{
    struct client clients[20];

    (void)state;
    for (int i = 0; i < 20; i++) {
        clients[i] = client_open(l, &server);
        client_say(&clients[i], "GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    /* All take something all the time: nobody is given up as stuck. */
    for (int64_t until = clock_ms() + 20 * PATIENCE_MS;
         shortest(clients, 20) < SIZE && clock_ms() < until;) {
        for (int i = 0; i < 20; i++) {
            client_turn(&clients[i], 65536);
        }
    }
    for (int i = 0; i < 20; i++) {
        client_close(&c);
        c = clients[i];
        assert_file_comes();
    }
}

int
main(void)
{
#define WARM(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define COLD(f) cmocka_unit_test_setup_teardown(f, set_up_cold, tear_down)
    const struct CMUnitTest tests[] = {
        WARM(test_file),
        COLD(test_file),
        WARM(test_slow_client),
        COLD(test_slow_client),
        WARM(test_head_and_part),
        COLD(test_head_and_part),
        WARM(test_client_goes),
        COLD(test_client_goes),
        WARM(test_file_shrinks),
        COLD(test_file_shrinks),
        COLD(test_many_at_once),
        cmocka_unit_test_setup_teardown(test_memory_needs_no_thread,
                                        set_up_threads, tear_down),
    };

    return cmocka_run_group_tests(tests, make_file, free_file);
}
