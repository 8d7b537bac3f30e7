/*
 * Sends one line to a control socket and prints all of its answers.
 *
 * Each line has a connection of its own, whose sending side is ended behind
 * the line: the answers are complete when the server ends its side.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef WEIRCTL_LINK_H
#define WEIRCTL_LINK_H

#include "base/errmsg.h"
#include "base/str.h"

enum { /* exit statuses of weirctl */
       ASK_OK = 0,
       ASK_FAILED = 1,  /* the command failed, or is wrong */
       ASK_NO_LINK = 2, /* nobody answers at that socket */
       ASK_DENIED = 3,  /* not allowed */
       ASK_TIMEOUT = 4,
};

struct ask {
    const char *path;   /* of the socket */
    struct str line;    /* without its end */
    unsigned commands;  /* in it: fewer answers are a connection cut off */
    int64_t timeout_ms; /* for all of it; 0: none */
    bool json;          /* failures too: {"ok":false,"code":...,"text":...} */
};

/* Prints answers on standard output and failures on standard error, in JSON
 * on standard output, as they come.  ASK_NO_LINK and ASK_DENIED with err are
 * about the socket itself; otherwise err is "" and the status is that of the
 * first failure. */
int link_ask(const struct ask *ask, struct errmsg *err);

/* Prints a failure as link_ask() does; code is one word. */
void link_print_failure(bool json, struct str code, struct str text);

#endif
