/*
 * Listening addresses: families, conflicts, unix sockets, spread.
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
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/listen.h"

#define WORKERS 4
#define CONNECTIONS 400

static char folder[] = "/tmp/weir-listen-XXXXXX";

static struct listener *
try_open(const char *text, unsigned sockets, struct errmsg *err)
{
    struct listen_options o = { .sockets = sockets };
    struct addr_listen where;

    assert_int_equal(addr_parse_listen(str_from(text), &where, err), 0);
    err->text[0] = '\0';
    return listener_open(&where, text, "rtmp", &o, err);
}

static struct listener *
must_open(const char *text, unsigned sockets)
{
    struct errmsg err;
    struct listener *l = try_open(text, sockets, &err);

    if (l == NULL) {
        fail_msg("%s", err.text);
    }
    return l;
}

static void
must_fail(const char *text, unsigned sockets, const char *why)
{
    struct errmsg err;
    struct listener *l = try_open(text, sockets, &err);
    char expected[256];

    assert_null(l);
    snprintf(expected, sizeof(expected), "cannot listen on %s: %s", text, why);
    assert_string_equal(err.text, expected);
}

/* Connects; -1 with errno. */
static int
dial(const struct addr *to)
{
    struct sockaddr_storage ss;
    socklen_t len = addr_to_socket(to, &ss);
    int fd = socket(to->family, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&ss, len) == -1) {
        int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int
dial_ip(const char *ip, uint16_t port)
{
    struct addr to;

    assert_int_equal(addr_parse_ip(str_from(ip), &to), 0);
    to.port = port;
    return dial(&to);
}

static int
dial_unix(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    str_copy(un.sun_path, sizeof(un.sun_path), str_from(path));
    if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
        close(fd);
        return -1;
    }
    return fd;
}

static void
with_port(char *dst, size_t size, const char *ip, uint16_t port)
{
    snprintf(dst, size, "%s:%u", ip, port);
}

static void
port_0_gets_one_port_for_all_sockets(void **state)
{
    struct listener *l = must_open("127.0.0.1:0", WORKERS);
    struct sockaddr_in in;

    (void)state;
    assert_int_equal(l->count, WORKERS);
    assert_string_equal(l->name, "127.0.0.1:0");
    assert_string_equal(l->proto, "rtmp");
    assert_int_not_equal(l->addr.port, 0);
    for (unsigned i = 0; i < l->count; i++) {
        socklen_t len = sizeof(in);

        assert_int_equal(getsockname(l->fds[i], (struct sockaddr *)&in, &len),
                         0);
        assert_int_equal(ntohs(in.sin_port), l->addr.port);
        assert_true(fcntl(l->fds[i], F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(l->fds[i], F_GETFL) & O_NONBLOCK);
    }
    listener_close(&l);
    assert_null(l);
    listener_close(&l);
}

/* Long-lived connections, accepted late: the kernel alone decides. */
static void
each_worker_gets_its_share(void **state)
{
    struct listener *l = must_open("127.0.0.1:0", WORKERS);
    int fds[CONNECTIONS], got[WORKERS] = { 0 }, total = 0;

    (void)state;
    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = dial(&l->addr);
        assert_int_not_equal(fds[i], -1);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        int fd;

        while ((fd = accept(l->fds[i], NULL, NULL)) != -1) {
            close(fd);
            got[i]++;
        }
        total += got[i];
    }
    assert_int_equal(total, CONNECTIONS);
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_true(got[i] >= CONNECTIONS / 10);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        close(fds[i]);
    }
    listener_close(&l);
}

static void
any_serves_both_families(void **state)
{
    struct listener *l = must_open("0", 2);
    int four = dial_ip("127.0.0.1", l->addr.port);

    (void)state;
    assert_int_not_equal(four, -1);
    close(four);
    if (l->addr.family == AF_INET6) {
        int six = dial_ip("::1", l->addr.port);

        assert_int_not_equal(six, -1);
        close(six);
    }
    listener_close(&l);
}

static bool
have_ip6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    bool have = fd != -1 && bind(fd, (struct sockaddr *)&in6, sizeof(in6)) == 0;

    if (fd != -1) {
        close(fd);
    }
    return have;
}

/* Opens both wildcards on one port; false when somebody else has just taken
 * that port of the other family. */
static bool
open_wildcards(struct listener **six, struct listener **four)
{
    struct errmsg err;
    char text[64];

    *six = must_open("[::]:0", 2);
    assert_int_equal((*six)->addr.family, AF_INET6);
    with_port(text, sizeof(text), "0.0.0.0", (*six)->addr.port);
    *four = try_open(text, 2, &err);
    if (*four == NULL) {
        listener_close(six);
    }
    return *four != NULL;
}

static void
both_wildcards_beside_each_other(void **state)
{
    struct listener *six, *four;
    int tries = 0;

    (void)state;
    if (!have_ip6()) {
        skip();
    }
    while (!open_wildcards(&six, &four)) {
        assert_true(++tries < 20);
    }
    int fd = dial_ip("127.0.0.1", six->addr.port);

    assert_int_not_equal(fd, -1);
    close(fd);
    assert_int_equal(accept(six->fds[0], NULL, NULL), -1);
    assert_int_equal(accept(six->fds[1], NULL, NULL), -1);
    listener_close(&four);
    listener_close(&six);
}

static void
our_own_address_in_use(void **state)
{
    struct listener *l = must_open("127.0.0.1:0", 2);
    char text[64];

    (void)state;
    with_port(text, sizeof(text), "127.0.0.1", l->addr.port);
    must_fail(text, 1, "Address already in use");
    must_fail(text, 4, "Address already in use");
    with_port(text, sizeof(text), "0.0.0.0", l->addr.port);
    must_fail(text, 2, "Address already in use");
    with_port(text, sizeof(text), "*", l->addr.port);
    must_fail(text, 2, "Address already in use");
    listener_close(&l);
}

static bool
can_connect(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool connected = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;

    close(fd);
    return connected;
}

/* As a process that has copies of the sockets can do. */
static void
sockets_that_were_shut_down_listen_again(void **state)
{
    struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
    struct listener *l = must_open("127.0.0.1:0", 2);

    (void)state;
    assert_int_equal(listener_revive(l), 0);
    assert_int_equal(shutdown(l->fds[0], SHUT_RD), 0);
    assert_int_equal(connect(l->fds[1], &nowhere, sizeof(nowhere)), 0);
    assert_false(can_connect(l->addr.port));
    assert_int_equal(listener_revive(l), 2);
    assert_true(can_connect(l->addr.port));
    assert_int_equal(listener_revive(l), 0);
    listener_close(&l);
}

/* The other process listens with SO_REUSEPORT, as another weir would. */
static void
address_of_another_process_in_use(void **state)
{
    int ready[2], status;
    uint16_t port = 0;
    char text[64];

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();

    if (pid == 0) {
        struct listener *l = must_open("127.0.0.1:0", 3);

        if (write(ready[1], &l->addr.port, 2) != 2) {
            _exit(1);
        }
        alarm(60); /* should the test fail first */
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &port, 2), 2);
    with_port(text, sizeof(text), "127.0.0.1", port);
    must_fail(text, 2, "Address already in use");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    struct listener *l = must_open(text, 2); /* free again at once */

    listener_close(&l);
    close(ready[0]);
    close(ready[1]);
}

/* Connections that we closed first do not keep the address. */
static void
opened_again_after_connections(void **state)
{
    struct listener *l = must_open("127.0.0.1:0", 1);
    uint16_t port = l->addr.port;
    int fd = dial(&l->addr), taken = accept(l->fds[0], NULL, NULL);
    char text[64];

    (void)state;
    close(taken); /* ours is the TIME_WAIT */
    close(fd);
    listener_close(&l);
    with_port(text, sizeof(text), "127.0.0.1", port);
    l = must_open(text, 2);
    listener_close(&l);
}

static void
addresses_that_cannot_be_had(void **state)
{
    int status;

    (void)state;
    must_fail("192.0.2.1:0", 1, "Cannot assign requested address");
    pid_t pid = fork();

    if (pid == 0) { /* a plain user, where low ports need a right */
        struct errmsg err;
        struct listener *l;

        if (geteuid() == 0 && setuid(65534) == -1) {
            _exit(2);
        }
        l = try_open("127.0.0.1:80", 1, &err);
        _exit(l != NULL || strcmp(err.text, "cannot listen on 127.0.0.1:80: "
                                            "Permission denied") == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void
in_folder(char *dst, size_t size, const char *prefix, const char *name)
{
    snprintf(dst, size, "%s%s/%s", prefix, folder, name);
}

static void
unix_socket_for_everybody(void **state)
{
    char text[128], path[128];
    struct stat st;
    mode_t old = umask(077);

    (void)state;
    in_folder(text, sizeof(text), "unix:", "s");
    in_folder(path, sizeof(path), "", "s");
    struct listener *l = must_open(text, WORKERS);

    umask(old);
    assert_int_equal(l->count, 1); /* shared by the workers */
    assert_string_equal(l->path, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    int fd = dial_unix(path);

    assert_int_not_equal(fd, -1);
    close(fd);
    must_fail(text, 1, "Address already in use");
    fd = dial_unix(path); /* the refused one did no harm */
    assert_int_not_equal(fd, -1);
    close(fd);
    listener_close(&l);
    assert_int_equal(stat(path, &st), -1);
}

static void
stale_unix_socket_is_replaced(void **state)
{
    char text[128], path[128];
    int status;

    (void)state;
    in_folder(text, sizeof(text), "unix:", "stale");
    in_folder(path, sizeof(path), "", "stale");
    pid_t pid = fork();

    if (pid == 0) {
        must_open(text, 1);
        _exit(0); /* as if killed: the path stays */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(dial_unix(path), -1);
    struct listener *l = must_open(text, 1);
    int fd = dial_unix(path);

    assert_int_not_equal(fd, -1);
    close(fd);
    listener_close(&l);
}

static void
only_its_owner_removes_the_path(void **state)
{
    char text[128], path[128];
    int status;

    (void)state;
    in_folder(text, sizeof(text), "unix:", "own");
    in_folder(path, sizeof(path), "", "own");
    struct listener *l = must_open(text, 1);
    pid_t pid = fork();

    if (pid == 0) {
        listener_close(&l);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(access(path, F_OK), 0);
    listener_close(&l);
    assert_int_equal(access(path, F_OK), -1);
}

static void
what_is_no_socket_is_left_alone(void **state)
{
    char text[128], path[128];

    (void)state;
    in_folder(text, sizeof(text), "unix:", "file");
    in_folder(path, sizeof(path), "", "file");
    close(open(path, O_CREAT | O_WRONLY, 0600));
    must_fail(text, 1, "File exists");
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    must_fail("unix:/no/such/folder/s", 1, "No such file or directory");
}

static int
make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_0_gets_one_port_for_all_sockets),
        cmocka_unit_test(each_worker_gets_its_share),
        cmocka_unit_test(any_serves_both_families),
        cmocka_unit_test(both_wildcards_beside_each_other),
        cmocka_unit_test(our_own_address_in_use),
        cmocka_unit_test(sockets_that_were_shut_down_listen_again),
        cmocka_unit_test(address_of_another_process_in_use),
        cmocka_unit_test(opened_again_after_connections),
        cmocka_unit_test(addresses_that_cannot_be_had),
        cmocka_unit_test(unix_socket_for_everybody),
        cmocka_unit_test(stale_unix_socket_is_replaced),
        cmocka_unit_test(only_its_owner_removes_the_path),
        cmocka_unit_test(what_is_no_socket_is_left_alone),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
