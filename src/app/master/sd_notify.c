/*
 * sd_notify(3): one datagram to a unix socket, "@" stands for the abstract
 * name space.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/sd_notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

void
sd_notify_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t len = path != NULL ? strlen(path) : 0;
    int fd;

    if (len < 2 || len >= sizeof(to.sun_path)) {
        return;
    }
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') {
        to.sun_path[0] = '\0';
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        return;
    }
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                 (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

/* ---- the watchdog ---- */

static struct {
    struct loop *loop; /* borrowed; NULL: nobody watches */
    struct timer timer;
    int64_t interval; /* ms */
    bool (*well)(void *arg);
    void *arg;
} watch;

static void
on_time(struct timer *t)
{
    if (watch.well(watch.arg)) {
        sd_notify_send("WATCHDOG=1");
    }
    timer_set(watch.loop, t, watch.interval);
}

/* Half of what the variables say, in ms; 0: we are not watched. */
static int64_t
find_interval(void)
{
    const char *time = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    int64_t us, who;

    if (time == NULL || !str_to_int(str_from(time), 2000, INT64_MAX, &us)) {
        return 0;
    }
    if (pid != NULL &&
        (!str_to_int(str_from(pid), 1, INT32_MAX, &who) || who != getpid())) {
        return 0;
    }
    return us / 2000;
}

void
sd_notify_watchdog_start(struct loop *l, bool (*well)(void *arg), void *arg)
{
    watch.interval = find_interval();
    if (watch.interval == 0) {
        return;
    }
    watch.loop = l;
    watch.well = well;
    watch.arg = arg;
    timer_init(&watch.timer, on_time);
    timer_set(l, &watch.timer, 0);
}

void
sd_notify_watchdog_stop(void)
{
    if (watch.loop != NULL) {
        timer_stop(watch.loop, &watch.timer);
        watch.loop = NULL;
    }
}

void
sd_notify_reloading(void)
{
    char text[64];

    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)clock_us());
    sd_notify_send(text);
}
