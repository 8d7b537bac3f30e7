/*
 * Making the control socket: what is in its place, its folder, its rights.
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/control/control_impl.h"

static char folder[] = "/tmp/weir-control-XXXXXX";
static char path[64];
static struct control_settings settings;
static struct errmsg err;

static int
set_up(void **state)
{
    (void)state;
    str_copy(folder, sizeof(folder), STR("/tmp/weir-control-XXXXXX"));
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/sock", folder);
    settings = (struct control_settings){ .socket = str_from(path),
                                          .mode = STR("0640"),
                                          .group = STR_NONE };
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* nothing else is left in it */
}

static int
try_connect(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int rc;

    str_copy(un.sun_path, sizeof(un.sun_path), str_from(path));
    rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
    close(fd);
    return rc;
}

static void
test_made_and_removed(void **state)
{
    struct control_socket s;
    struct stat st;

    (void)state;
    assert_int_equal(control_socket_open(&s, &settings, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(try_connect(), 0);
    settings.mode = STR("0600");
    assert_int_equal(control_socket_change(&s, &settings, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    control_socket_close(&s);
    assert_int_equal(s.fd, -1);
    assert_int_equal(stat(path, &st), -1);
}

static void
test_stale_is_replaced(void **state)
{
    struct control_socket dead, s;

    (void)state;
    assert_int_equal(control_socket_open(&dead, &settings, &err), 0);
    control_socket_forget(&dead); /* as if it was killed */
    assert_int_equal(try_connect(), -1);
    assert_int_equal(control_socket_open(&s, &settings, &err), 0);
    assert_int_equal(try_connect(), 0);
    control_socket_close(&s);
}

static void
test_live_is_refused(void **state)
{
    struct control_socket first, second;

    (void)state;
    assert_int_equal(control_socket_open(&first, &settings, &err), 0);
    assert_int_equal(control_socket_open(&second, &settings, &err), -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(second.fd, -1);
    assert_int_equal(try_connect(), 0);
    control_socket_close(&first);
}

/* What another weir has put there by now is not ours to remove. */
static void
test_removes_only_its_own(void **state)
{
    struct control_socket first, second;
    struct stat st;

    (void)state;
    assert_int_equal(control_socket_open(&first, &settings, &err), 0);
    unlink(path);
    assert_int_equal(control_socket_open(&second, &settings, &err), 0);
    control_socket_close(&first);
    assert_int_equal(stat(path, &st), 0);
    control_socket_close(&second);
}

static void
test_no_socket_there(void **state)
{
    struct control_socket s;
    FILE *f = fopen(path, "w");

    (void)state;
    fclose(f);
    assert_int_equal(control_socket_open(&s, &settings, &err), -1);
    assert_non_null(strstr(err.text, "no socket"));
}

static void
test_unsafe_folder(void **state)
{
    struct control_socket s;

    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(control_socket_open(&s, &settings, &err), -1);
    assert_non_null(strstr(err.text, folder));
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(control_socket_open(&s, &settings, &err), 0);
    control_socket_close(&s);
}

static void
test_no_such_group(void **state)
{
    struct control_socket s;

    (void)state;
    settings.group = STR("no such group");
    assert_int_equal(control_socket_open(&s, &settings, &err), -1);
    assert_int_equal(s.fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_made_and_removed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_stale_is_replaced, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_live_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_removes_only_its_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_no_socket_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_unsafe_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_such_group, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
