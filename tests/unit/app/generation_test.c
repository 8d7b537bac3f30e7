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

    if (generation_open(g, &listeners, &err) == -1 ||
        generation_listen(g, &err) == -1) {
        fail_msg("%s", err.text);
    }
    generation_keep_listeners(g);
    return g;
}

/* Listens on an address as another program would. */
static struct listener *
somebody(struct errmsg *err)
{
    struct listen_options o = { .sockets = 1 };
    struct addr_listen where;

    addr_parse_listen(STR("127.0.0.3:0"), &where, err);
    return listener_open(&where, "somebody", "rtmp", &o, err);
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
    generation_close_all(&listeners);
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
    generation_retire_others(new, &listeners);
    assert_true(old->bindings[1].listener->retired);
    assert_int_equal(count(&listeners), 3);
    /* One that comes after it may want it back. */
    assert_true(generation_close_retired(old, &listeners));
    assert_int_equal(count(&listeners), 3);
    assert_false(generation_close_retired(NULL, &listeners));
    assert_int_equal(count(&listeners), 2);
    generation_close_all(&listeners);
    generation_free(&old);
    generation_free(&new);
}

static void
what_cannot_be_opened_changes_nothing(void **state)
{
    struct generation *old = open_good(1, "\"127.0.0.1:0\"");
    struct errmsg err = { "" };
    struct listener *taken = somebody(&err);
    char listen[128];
    struct generation *new;

    (void)state;
    /* A free one first, then one that somebody else has. */
    snprintf(listen, sizeof(listen),
             "( \"127.0.0.1:0\", \"127.0.0.2:0\", \"127.0.0.3:%u\" )",
             taken->addr.port);
    new = load(2, listen);
    new->workers = 5;
    assert_int_equal(generation_open(new, &listeners, &err), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_non_null(strstr(err.text, "127.0.0.3"));
    assert_int_equal(count(&listeners), 1);
    assert_int_equal(old->bindings[0].listener->count, 3);
    generation_close_all(&listeners);
    listener_close(&taken);
    /* It may be tried again. */
    assert_int_equal(generation_open(new, &listeners, &err), 0);
    assert_int_equal(new->binding_count, 3);
    assert_int_equal(count(&listeners), 3);
    generation_close_all(&listeners);
    generation_free(&old);
    generation_free(&new);
}

/* More workers have more sockets, which are nobody's until they listen. */
static void
sockets_grow_with_the_workers(void **state)
{
    struct generation *old = open_good(1, "\"127.0.0.1:0\"");
    struct generation *new = load(2, "\"127.0.0.1:0\"");
    const struct listener *l = old->bindings[0].listener;
    struct errmsg err = { "" };

    (void)state;
    new->workers = 4;
    assert_int_equal(generation_open(new, &listeners, &err), 0);
    assert_ptr_equal(new->bindings[0].listener, l);
    assert_int_equal(l->count, 4);
    assert_int_equal(l->started, 3);
    generation_unopen(new, &listeners);
    assert_int_equal(l->count, 3);
    assert_int_equal(generation_open(new, &listeners, &err), 0);
    assert_int_equal(generation_listen(new, &err), 0);
    assert_int_equal(l->started, 4);
    generation_unopen(new, &listeners); /* it failed at the last step */
    assert_int_equal(l->count, 3);
    assert_int_equal(l->started, 3);
    generation_close_all(&listeners);
    generation_free(&old);
    generation_free(&new);
}

/* Another text, another protocol: the same socket. */
static void
an_address_is_known_whatever_it_is_called(void **state)
{
    struct generation *old = open_good(1, "\"127.0.0.1:0\"");
    const struct listener *l = old->bindings[0].listener;
    struct generation *new;
    struct errmsg err = { "" };
    char listen[64];

    (void)state;
    snprintf(listen, sizeof(listen), "\"127.0.0.1:0%u\"", l->addr.port);
    new = load(2, listen);
    assert_int_equal(generation_open(new, &listeners, &err), 0);
    assert_ptr_equal(new->bindings[0].listener, l);
    generation_keep_listeners(new);
    assert_true(l->name[0] != '\0');
    generation_close_all(&listeners);
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
        cmocka_unit_test(sockets_grow_with_the_workers),
        cmocka_unit_test(an_address_is_known_whatever_it_is_called),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
