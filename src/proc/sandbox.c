/*
 * Capabilities, dumps, and all parts of the sandbox together.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "proc/sandbox_impl.h"

#define LACKS 1024 /* bytes of the line that tells them */

bool
sandbox_is_wide(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#else
    return false;
#endif
#else
    return false;
#endif
}

/* A process that is not root has no right to empty the bounding set, and no
 * capability that the set would bound. */
void
sandbox_prepare(const struct sandbox *s)
{
    if (!s->capabilities) {
        return;
    }
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    }
}

static int
drop_capabilities(void)
{
    struct __user_cap_header_struct head = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {
        { 0, 0, 0 },
    };

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 &&
        errno != EINVAL) { /* EINVAL: before Linux 4.3 */
        return -1;
    }
    return (int)syscall(SYS_capset, &head, none);
}

/* A process that has changed its user cannot be dumped or traced. */
static int
allow_dumps(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Core dumps that go to a program are not stopped by a limit of 0, but by
 * this; and a process of the same user cannot look into our memory. */
static int
forbid_dumps(void)
{
    struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_CORE, &none) == -1) {
        return -1;
    }
    return sandbox_is_wide() ? allow_dumps()
                             : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static bool
has_landlock(const struct sandbox *s)
{
    return s->landlock && !sandbox_is_wide() && sandbox_landlock_version() > 0;
}

int
sandbox_enter(const struct sandbox *s, struct errmsg *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return errmsg_sys(err, "cannot give up new privileges");
    }
    if (s->capabilities && drop_capabilities() == -1) {
        return errmsg_sys(err, "cannot give up capabilities");
    }
    if (s->core_dumps ? allow_dumps() == -1 : forbid_dumps() == -1) {
        return errmsg_sys(err, "cannot %s core dumps",
                          s->core_dumps ? "allow" : "forbid");
    }
    if (has_landlock(s) && sandbox_restrict(s) == -1) {
        return errmsg_sys(err, "cannot restrict files (sandbox.landlock)");
    }
    if (s->seccomp != SANDBOX_SECCOMP_OFF && sandbox_has_filter() &&
        ((s->kind == SANDBOX_CHILD && sandbox_catch() == -1) ||
         sandbox_filter(s) == -1)) {
        return errmsg_sys(err, "cannot filter system calls (sandbox.seccomp)");
    }
    return 0;
}

/* ---- telling ---- */

/* Parts that are asked for and are not in force, with the Linux that has them.
 */
static void
list_lacks(const struct sandbox *s, struct buf *out)
{
    bool wide = sandbox_is_wide(), filter = sandbox_has_filter();
    bool asked = s->seccomp != SANDBOX_SECCOMP_OFF;
    bool hears = s->seccomp == SANDBOX_SECCOMP_ENFORCE && sandbox_can_hear();
    int landlock = wide ? 0 : sandbox_landlock_version();
    const struct {
        bool lacks;
        const char *what, *system;
    } parts[] = {
        { asked && !filter, "system calls", "4.14" },
        { s->seccomp == SANDBOX_SECCOMP_ENFORCE && filter && !hears,
          "which calls programs make that are not on their list", "5.0" },
        { asked && filter && !sandbox_seals_memory(),
          "that programs execute files of memory", "6.3" },
        { s->landlock && landlock < SANDBOX_HOLDS_FILES,
          "files that processes use", "5.13" },
        { s->landlock && landlock < SANDBOX_HOLDS_SIZES, "sizes of files",
          "6.2" },
        { s->landlock && landlock < SANDBOX_HOLDS_PORTS,
          "ports that processes connect to", "6.7" },
        { s->landlock && landlock < SANDBOX_HOLDS_ABSTRACT,
          "abstract unix sockets", "6.12" },
        { s->landlock && landlock < SANDBOX_HOLDS_ABSTRACT && !hears,
          "signals of programs", "6.12" },
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].lacks) {
            buf_printf(out, "%s%s", buf_len(out) > 0 ? ", " : "",
                       parts[i].what);
        }
        if (parts[i].lacks && !wide) {
            buf_printf(out, " (Linux %s)", parts[i].system);
        }
    }
}

static void
tell_lacks(const struct sandbox *s)
{
    struct buf lacks;

    buf_init(&lacks, LACKS);
    list_lacks(s, &lacks);
    if (buf_len(&lacks) > 0) {
        log_notice("sandbox: %s does not hold: %.*s",
                   sandbox_is_wide() ? "a build with sanitizers"
                                     : "this kernel",
                   STR_ARGS(buf_str(&lacks)));
    }
    buf_clear(&lacks);
}

void
sandbox_tell(const struct sandbox *s)
{
    static const char *const words[] = { "not filtered", "filtered (log)",
                                         "filtered (enforce)" };
    char files[64] = "not restricted";

    tell_lacks(s);
    if (has_landlock(s)) {
        snprintf(files, sizeof(files), "restricted (Landlock %d)",
                 sandbox_landlock_version());
    }
    log_info("sandbox: no new privileges, capabilities %s, system calls %s, "
             "files %s, core dumps %s",
             s->capabilities ? "dropped" : "kept",
             words[sandbox_has_filter() ? s->seccomp : SANDBOX_SECCOMP_OFF],
             files, s->core_dumps ? "as the system has it" : "forbidden");
}
