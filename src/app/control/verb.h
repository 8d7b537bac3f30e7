/*
 * Commands of the control socket, for the code that adds some: weir itself
 * (app/control) and modules (struct module's verbs).
 *
 * A command runs in the master, on its loop: it must not block, and it gets
 * data of other processes from shared memory or over the bus. run() is called
 * again as long as it does not return CONTROL_DONE; it keeps its data between
 * calls in control_state().  It writes its answer once, with the functions
 * below, and they make text or JSON of it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CONTROL_VERB_H
#define APP_CONTROL_VERB_H

#include "base/str.h"

/* The rights of a client; each level includes those before it. */
enum control_level {
    CONTROL_NONE, /* nothing at all */
    CONTROL_USER,
    CONTROL_OPERATOR,
    CONTROL_ADMIN,
};

enum control_result {
    CONTROL_DONE,  /* the answer is whole */
    CONTROL_MORE,  /* call again when the client has taken the bytes so far */
    CONTROL_LATER, /* call again after control_again() or _resume() */
};

struct control_call;
struct master;
struct settings; /* app/settings/settings.h */

struct control_verb {
    const char *words;     /* "show proc"; NULL ends a table */
    const char *arguments; /* as help shows them: "[N]"; NULL: none */
    const char *help;      /* one line */
    enum control_level level;
    size_t most; /* words that may follow */
    enum control_result (*run)(struct control_call *call);
};

/* ---- the question ---- */

/* Words behind the verb; number i of them, STR_NONE behind the last.  They
 * live as long as the call. */
size_t control_words(const struct control_call *call);
struct str control_word(const struct control_call *call, size_t i);
/* Whether the client has at least this level. */
bool control_may(const struct control_call *call, enum control_level level);
/* The settings of the weir.conf in force; valid until run() returns. */
const struct settings *control_settings(const struct control_call *call);
/* For weir's own commands. */
struct master *control_master(const struct control_call *call);

/* ---- time ---- */

/* Memory of the call: zeroed at the first call, the same at later ones; done,
 * if not NULL, is called with it before it is freed, however the call ends. */
void *control_state(struct control_call *call, size_t size,
                    void (*done)(void *state));
/* run() is called again after ms, or at once at the end of this turn. */
void control_again(struct control_call *call, int64_t ms);
void control_resume(struct control_call *call);

/* ---- the answer: one of these shapes ---- */

/* "OK ...": {"ok": true, "text": "..."} */
enum control_result control_ok(struct control_call *call, const char *format,
                               ...) __attribute__((format(printf, 2, 3)));
/* "ERR code ..." in both; code is one word: "usage", "missing", "failed".
 * Only before any other part of the answer. */
enum control_result control_fail(struct control_call *call, const char *code,
                                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The arguments are wrong: answers with the command's usage. */
enum control_result control_usage(struct control_call *call);

/* Lines of text, empty ones left out: {"lines": ["...", ...]} */
void control_lines(struct control_call *call, struct str text);

/* "name: value" a line: {"name": value, ...} */
void control_pair(struct control_call *call, const char *name, struct str s);
void control_pair_int(struct control_call *call, const char *name, int64_t n);

/* Columns, a line of names first: [{"name": value, ...}, ...].  Cells come in
 * the order of the columns, and a row ends with its last one. */
struct control_column {
    const char *name; /* NULL ends the list */
    int width;        /* text: at least so wide; 0: the rest of the line */
};
void control_table(struct control_call *call, const struct control_column *c);
void control_cell(struct control_call *call, struct str s);
/* Words of weir's own for the operator, as messages are: quotes stay, and what
 * is escaped in them is not escaped again. */
void control_cell_words(struct control_call *call, struct str s);
void control_cell_int(struct control_call *call, int64_t n);
/* Enough was written for one turn: return CONTROL_MORE. */
bool control_full(const struct control_call *call);

#endif
