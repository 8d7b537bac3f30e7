/*
 * Calls that a filter hands on to a listener.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/metrics.h"
#include "proc/sandbox_impl.h"

/* The kernel's records may grow. */
union record {
    struct seccomp_notif call;
    struct seccomp_notif_resp answer;
    char room[512];
};

bool
sandbox_can_hear(void)
{
    uint32_t action = SECCOMP_RET_USER_NOTIF;
    struct seccomp_notif_sizes sizes;

    return sandbox_has_filter() &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
           sizes.seccomp_notif <= sizeof(union record) &&
           sizes.seccomp_notif_resp <= sizeof(union record);
}

bool
sandbox_hear(int listener, struct sandbox_call *call)
{
    union record r;

    memset(&r, 0, sizeof(r)); /* or the kernel refuses it */
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &r) == -1) {
        return false;
    }
    call->id = r.call.id;
    call->pid = (pid_t)r.call.pid;
    call->number = r.call.data.nr;
    for (size_t i = 0; i < 6; i++) {
        call->arguments[i] = r.call.data.args[i];
    }
    return true;
}

static bool
answer(int listener, const struct seccomp_notif_resp *said)
{
    union record r;

    memset(&r, 0, sizeof(r));
    r.answer = *said;
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) == 0;
}

bool
sandbox_answer(int listener, const struct sandbox_call *call, int error,
               int64_t value)
{
    const struct seccomp_notif_resp said = { .id = call->id,
                                             .error = -error,
                                             .val = value };

    return answer(listener, &said);
}

void
sandbox_let(int listener, const struct sandbox_call *call)
{
    const struct seccomp_notif_resp said = {
        .id = call->id,
        .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
    };

    if (!answer(listener, &said) && errno == EINVAL) {
        sandbox_answer(listener, call, EPERM, 0);
    }
}

bool
sandbox_tells(struct sandbox_told *told, int number)
{
    for (size_t i = 0; i < told->count; i++) {
        if (told->numbers[i] == number) {
            return false;
        }
    }
    if (told->count == SANDBOX_TOLD) {
        return false;
    }
    told->numbers[told->count++] = number;
    return true;
}

void
sandbox_note(const char *program, int number)
{
    metric_add_shared(&proc_metrics[PROC_SANDBOX_UNKNOWN], 0, 1);
    log_limited(LOG_WARN,
                "%s has made system call %d, which no program of weir makes: "
                "it was told that there is none",
                program, number);
}
