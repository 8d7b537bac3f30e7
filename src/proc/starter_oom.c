/*
 * Programs go first when the machine has no memory left.
 *
 * A fork inherits how willingly the kernel ends a process then.  The starter
 * may not write there for another, so it is as willing itself while it forks;
 * who has only raised the number may lower it again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "proc/starter_impl.h"

static int score = -1; /* owned */
static char own[16];   /* what it was */

void
starter_oom_open(void)
{
    ssize_t n;

    score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    n = score == -1 ? -1 : read(score, own, sizeof(own) - 1);
    if (n <= 0 && score != -1) {
        close(score);
        score = -1;
    }
}

void
starter_oom_first(bool first)
{
    const char *text = first ? "1000" : own;

    if (score != -1) {
        (void)!pwrite(score, text, strlen(text), 0);
    }
}
