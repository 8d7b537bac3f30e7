/*
 * What a configuration opens, and what the next one finds open.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/generation.h"
#include "base/mem.h"
#include "proc/logring.h"
#include "proc/slot.h"

static char path[] = "/tmp/weir-generation-XXXXXX";
static struct list listeners;

static struct generation *
load(uint32_t number, const char *listen)
{
    FILE *f = fopen(path, "w");
    char *mistakes = NULL;
    struct generation *g;

    assert_non_null(f);
    fprintf(f,
            "worker_processes = 3;\n"
            "rtmp = { servers = ( { listen = %s;\n"
            "  applications = ( { name = \"live\"; } ); } ); };\n",
            listen);
    fclose(f);
    g = generation_load(number, path, &mistakes);
    if (g == NULL) {
        fail_msg("%s", mistakes);
    }
    return g;
}

static size_t
count(const struct list *l)
{
    size_t n = 0;

    LIST_EACH (node, l) {
        n++;
    }
    return n;
}

static struct generation *
open_good(uint32_t number, const char *listen)
{
    struct generation *g = load(number, listen);
    struct errmsg err = { "" };

    if (generation_open(g, &listeners, &err) == -1) {
        fail_msg("%s", err.text);
    }
    return g;
}

static int
set_up(void **state)
{
    struct errmsg err;
    int fd = mkstemp(path);

    (void)state;
    if (fd == -1 || slots_create(2, &err) == -1 || logring_create(&err) == -1) {
        return -1;
    }
    close(fd);
    list_init(&listeners);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    logring_destroy();
    slots_destroy();
    return unlink(path);
}

static void
each_address_has_a_socket_for_each_worker(void **state)
{
    struct generation *g = open_good(1, "( \"127.0.0.1:0\", \"[::1]:0\" )");

    (void)state;
    assert_int_equal(g->workers, 3);
    assert_int_equal(g->binding_count, 2);
    assert_int_equal(count(&listeners), 2);
    assert_int_equal(g->bindings[0].listener->count, 3);
    assert_string_equal(g->bindings[0].listener->proto, "rtmp");
    assert_true(g->bindings[0].listener->addr.port != 0);
    generation_close_others(NULL, &listeners);
    assert_true(list_empty(&listeners));
    generation_free(&g);
}

static void
the_next_generation_takes_over_what_is_open(void **state)
{
    struct generation *old =
        open_good(1, "( \"127.0.0.1:0\", \"127.0.0.1:0\" )");
    struct generation *new =
        open_good(2, "( \"127.0.0.1:0\", \"127.0.0.2:0\" )");

    (void)state;
    assert_ptr_not_equal(old->bindings[0].listener, old->bindings[1].listener);
    assert_ptr_equal(new->bindings[0].listener, old->bindings[0].listener);
    assert_int_equal(count(&listeners), 3);
    generation_close_others(new, &listeners);
    assert_int_equal(count(&listeners), 2);
    generation_close_others(NULL, &listeners);
    generation_free(&old);
    generation_free(&new);
}

static void
what_cannot_be_opened_changes_nothing(void **state)
{
    struct generation *old = open_good(1, "\"127.0.0.1:0\"");
    struct errmsg err = { "" };
    char listen[128];
    struct generation *new;

    (void)state;
    /* A free one first, then one that is taken under another name. */
    snprintf(listen, sizeof(listen), "( \"127.0.0.2:0\", \"127.0.0.1:%u\" )",
             old->bindings[0].listener->addr.port);
    new = load(2, listen);
    assert_int_equal(generation_open(new, &listeners, &err), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_non_null(strstr(err.text, "127.0.0.1"));
    assert_int_equal(count(&listeners), 1);
    generation_close_others(NULL, &listeners);
    /* It may be tried again. */
    assert_int_equal(generation_open(new, &listeners, &err), 0);
    assert_int_equal(new->binding_count, 2);
    assert_int_equal(count(&listeners), 2);
    generation_close_others(NULL, &listeners);
    generation_free(&old);
    generation_free(&new);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_has_a_socket_for_each_worker),
        cmocka_unit_test(the_next_generation_takes_over_what_is_open),
        cmocka_unit_test(what_cannot_be_opened_changes_nothing),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
