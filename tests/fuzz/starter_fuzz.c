/*
 * Fuzz target: what a role asks of its starter, and what that reports.
 *
 * A request that is taken names what the starter has, within the bounds, and
 * is the same when it is written and read again.
 *
 * covers: src/proc/starter_wire.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <signal.h>

#include "proc/starter_wire.h"

#define PROGRAMS 3
#define FOLDERS 2

static const struct starter_options options = { .program_count = PROGRAMS,
                                                .folder_count = FOLDERS };

static size_t
check_texts(const char *const *texts, const char *const *again)
{
    size_t n = 0;

    for (; texts[n] != NULL; n++) {
        require(n < PROGRAM_TEXTS && again[n] != NULL &&
                strcmp(texts[n], again[n]) == 0);
    }
    require(again[n] == NULL);
    return n;
}

static void
check_request(const struct starter_request *r, size_t fds)
{
    static struct starter_request again;
    struct buf out;
    struct errmsg err;

    buf_init(&out, STARTER_MESSAGE);
    require(starter_wire_write(r, &out, &err) == 0 &&
            starter_wire_read(&again, buf_str(&out), &options, fds) &&
            again.asks == r->asks && again.run == r->run);
    require(r->run < STARTER_RUNS);
    if (r->asks == STARTER_SIGNAL) {
        require(r->number > 0 && r->number < NSIG && fds == 0);
    } else {
        require(r->program < PROGRAMS && r->folder < FOLDERS);
        require(r->passed < 1U << PROGRAM_FILES && again.passed == r->passed);
        require(memcmp(&r->limits, &again.limits, sizeof(r->limits)) == 0);
        require(memcmp(&r->bounds, &again.bounds, sizeof(r->bounds)) == 0);
        require(check_texts(r->arguments, again.arguments) > 0);
        check_texts(r->environment, again.environment);
    }
    buf_clear(&out);
}

static void
check_report(const struct starter_report *r)
{
    struct starter_report again;
    struct buf out;

    buf_init(&out, STARTER_REPORT);
    starter_report_write(r, &out);
    require(starter_report_read(&again, buf_str(&out)));
    require(again.tells == r->tells && again.run == r->run &&
            again.end.status == r->end.status &&
            again.end.excess == r->end.excess && r->run < STARTER_RUNS);
    buf_clear(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct starter_request r;
    struct str input = str_of(data, size);
    size_t fds = take_byte(&input) % (PROGRAM_FILES + 2);
    struct starter_report report;

    if (input.len <= STARTER_MESSAGE &&
        starter_wire_read(&r, input, &options, fds)) {
        check_request(&r, fds);
    }
    if (input.len <= STARTER_REPORT && starter_report_read(&report, input)) {
        check_report(&report);
    }
    return 0;
}
