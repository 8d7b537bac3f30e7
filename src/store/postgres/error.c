/*
 * The table of SQLSTATEs (PostgreSQL's manual, appendix A).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/error.h"

#include <ctype.h>
#include <string.h>

#define STATE 5

static const struct {
    const char *begin; /* of the state */
    struct pg_fault fault;
} faults[] = {
    { "08", { STORE_DOWN, PG_LEAVE } },      /* connection */
    { "0A000", { STORE_FAILED, PG_LEAVE } }, /* a plan that is too old */
    { "23505", { STORE_CONFLICT, PG_ANSWER } },
    { "25006", { STORE_DOWN, PG_LEAVE } },   /* read-only: a standby */
    { "25P03", { STORE_DOWN, PG_LEAVE } },   /* idle for too long */
    { "26000", { STORE_FAILED, PG_LEAVE } }, /* no such prepared one */
    { "40001", { STORE_DOWN, PG_AGAIN } },   /* not serializable */
    { "40P01", { STORE_DOWN, PG_AGAIN } },   /* deadlock */
    { "53100", { STORE_FULL, PG_ANSWER } },  /* disk */
    { "53200", { STORE_FULL, PG_ANSWER } },  /* memory */
    { "53", { STORE_DOWN, PG_ANSWER } },     /* too many connections */
    { "55P03", { STORE_DOWN, PG_AGAIN } },   /* a lock */
    { "57014", { STORE_DOWN, PG_ANSWER } },  /* statement_timeout */
    { "57P", { STORE_DOWN, PG_LEAVE } },     /* shutdown */
    { "58", { STORE_DOWN, PG_ANSWER } },     /* its files */
    { "XX", { STORE_DOWN, PG_ANSWER } },     /* its own bugs */
};

struct pg_fault
pg_fault_of(const char *state)
{
    if (state == NULL) {
        return (struct pg_fault){ STORE_DOWN, PG_LEAVE };
    }
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strncmp(state, faults[i].begin, strlen(faults[i].begin)) == 0) {
            return faults[i].fault;
        }
    }
    return (struct pg_fault){ STORE_FAILED, PG_ANSWER };
}

struct pg_fault
pg_fault_of_result(const PGresult *r)
{
    return pg_fault_of(libpq.resultErrorField(r, PG_DIAG_SQLSTATE));
}

/* Messages of these classes name tables, columns, constraints, words of the
 * statement and settings of the server; others may quote values. */
static bool
quotes_no_values(const char *state)
{
    static const char *const classes[] = { "08", "0A", "23", "25", "26",
                                           "28", "3D", "40", "42", "53",
                                           "55", "57", "58" };

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strncmp(state, classes[i], 2) == 0) {
            return true;
        }
    }
    return false;
}

void
pg_explain(const PGresult *r, struct errmsg *why)
{
    const char *state = libpq.resultErrorField(r, PG_DIAG_SQLSTATE);
    const char *words = libpq.resultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

    if (state == NULL || words == NULL) {
        errmsg_set(why, "the connection to the server is lost");
    } else if (quotes_no_values(state)) {
        errmsg_set(why, "%s (SQLSTATE %s)", words, state);
    } else {
        errmsg_set(why, "SQLSTATE %s", state);
    }
}

/* ---- connections ---- */

/* Behind it stands where in the server's source it was said. */
static size_t
length_of_words(const char *text)
{
    const char *location = strstr(text, "\nLOCATION:");
    size_t len = location != NULL ? (size_t)(location - text) : strlen(text);

    while (len > 0 && text[len - 1] == '\n') {
        len--;
    }
    return len;
}

void
pg_explain_conn(const PGconn *c, struct errmsg *why)
{
    const char *text = libpq.errorMessage(c);

    errmsg_set(why, "%.*s", (int)length_of_words(text), text);
    for (char *at = why->text; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    }
    if (why->text[0] == '\0') {
        errmsg_set(why, "the connection to the server is lost");
    }
}

static bool
is_state(const char *text)
{
    for (int i = 0; i < STATE; i++) {
        if (!isdigit((unsigned char)text[i]) &&
            !isupper((unsigned char)text[i])) {
            return false;
        }
    }
    return text[STATE] == ':';
}

/* libpq tells the state of a failed start within its words alone, behind the
 * severity: "FATAL:  28P01: password ...". */
bool
pg_conn_was_refused(const PGconn *c)
{
    const char *text = libpq.errorMessage(c);

    for (; (text = strstr(text, ":  ")) != NULL; text++) {
        const char *state = text + 3;

        if (is_state(state)) {
            return strncmp(state, "28", 2) == 0 ||
                   strncmp(state, "3D", 2) == 0 || strncmp(state, "42", 2) == 0;
        }
    }
    return false;
}
