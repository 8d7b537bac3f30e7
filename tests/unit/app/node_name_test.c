/*
 * What a weir is called among those on its database.
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

#include "app/node_name.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[32], pid[64];
static struct settings s;

static void
make_pid_file(void)
{
    int fd = open(pid, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_int_not_equal(fd, -1);
    close(fd);
}

static int
set_up(void **state)
{
    (void)state;
    str_copy(folder, sizeof(folder), STR("/tmp/weir-node-XXXXXX"));
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(pid, sizeof(pid), "%s/a b.pid", folder);
    make_pid_file();
    memset(&s, 0, sizeof(s));
    s.pid = str_from(pid);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    unlink(pid);
    return rmdir(folder);
}

static void
it_is_called_as_the_settings_say(void **state)
{
    char name[LEASE_NODE_MAX + 1];

    (void)state;
    s.store.node = STR("north");
    assert_string_equal(node_name(&s, name).ptr, "north");
}

/* Without what is no name. */
static void
else_by_host_and_pid_file(void **state)
{
    char name[LEASE_NODE_MAX + 1], host[256] = "", expected[400];

    (void)state;
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    snprintf(expected, sizeof(expected), "%s:%s/a_b.pid", host, folder);
    assert_string_equal(node_name(&s, name).ptr, expected);
}

static void
a_long_path_is_cut_at_its_begin(void **state)
{
    char name[LEASE_NODE_MAX + 1], path[601];
    struct str found;

    (void)state;
    memset(path, 'x', sizeof(path) - 1);
    memcpy(path + sizeof(path) - 5, ".pid", 5);
    s.pid = str_from(path);
    found = node_name(&s, name);
    assert_true(found.len == LEASE_NODE_MAX);
    assert_true(str_ends(found, STR("xx.pid")));
}

/* The file tells, not its name. */
static void
a_place_is_that_of_the_pid_file(void **state)
{
    char first[LEASE_NODE_MAX + 1], second[LEASE_NODE_MAX + 1];
    char other[LEASE_NODE_MAX + 1], kept[80];

    (void)state;
    node_place(&s, first);
    node_place(&s, second);
    assert_string_equal(first, second);
    snprintf(kept, sizeof(kept), "%s.old", pid);
    assert_int_equal(rename(pid, kept), 0);
    make_pid_file();
    node_place(&s, other);
    assert_string_not_equal(first, other);
    unlink(kept);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_called_as_the_settings_say),
        TEST(else_by_host_and_pid_file),
        TEST(a_long_path_is_cut_at_its_begin),
        TEST(a_place_is_that_of_the_pid_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
