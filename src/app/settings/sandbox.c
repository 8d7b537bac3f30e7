/*
 * The rows of the sandbox.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "conf/rows.h"

/* enum sandbox_seccomp */
static const char *const seccomp[] = { "off", "log", "enforce", NULL };

const struct conf_key settings_sandbox_keys[] = {
    ROW(sandbox_settings, seccomp, CONF_ENUM, .words = seccomp,
        .preset = "enforce",
        .help = "System calls that weir has no use for are refused, or only "
                "told by the kernel's log."),
    ROW(sandbox_settings, landlock, CONF_BOOL, .preset = "true",
        .help = "Files are read below the roots of locations and nowhere "
                "else, none is written or executed, no new TCP port is "
                "listened on, and only the ports that a process needs are "
                "connected to; roles have rights of their own."),
    ROW(sandbox_settings, capabilities, CONF_BOOL, .preset = "true",
        .help = "Capabilities are given up, by root too."),
    ROW(sandbox_settings, core_dumps, CONF_BOOL, .preset = "false",
        .help = "Processes may dump core and be traced; memory has stream "
                "keys in it."),
    CONF_END,
};
