/*
 * Shared by the files of the control socket.
 *
 *   control.c    start, stop, accepting
 *   socket.c     making and removing the socket
 *   level.c      who may do what
 *   client.c     a connection: lines in, answers out
 *   output.c     the shapes of answers
 *   command.c    the table: finding a command in a line, help
 *   show.c       commands that tell of processes and settings
 *   show_proc.c  ... of each process
 *   show_live.c  ... of streams, sessions, errors, events
 *   actions.c    commands that change something
 *   lifecycle.c  reload, stop, waiting
 *   test_url.c   the way of a URL
 *   except.c     exceptions for one client or stream
 *   sockets.c    clients of Socket.IO
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CONTROL_CONTROL_IMPL_H
#define APP_CONTROL_CONTROL_IMPL_H

#include "app/control/control.h"
#include "app/master/state.h"
#include "base/log.h"
#include "net/conn.h"
#include "net/listen.h"
#include "json/json.h"

#define CONTROL_CLIENTS 64     /* at once ... */
#define CONTROL_KEPT 8         /* ... so many of them of level admin only */
#define CONTROL_WORDS 24       /* of one command */
#define CONTROL_PIECE 32768    /* bytes made before they are sent */
#define CONTROL_ANSWER 8388608 /* bytes of an answer made in one go */
#define CONTROL_IDLE_MS 600000 /* a client that sends nothing */

/* ---- the socket ---- */

struct control_socket {
    int fd;     /* owned; -1: none */
    char *path; /* owned */
    dev_t device;
    ino_t inode; /* of the path while it is ours */
};

/* Makes the socket, in the place of a stale one. -1 with err: a live one is
 * there, the folder is not safe... */
int control_socket_open(struct control_socket *s,
                        const struct control_settings *settings,
                        struct errmsg *err);
/* Another mode or group for the one that is open. */
int control_socket_change(const struct control_socket *s,
                          const struct control_settings *settings,
                          struct errmsg *err);
/* Whether the path is still this socket: nobody has removed or replaced it. */
bool control_socket_is_there(const struct control_socket *s);
void control_socket_close(struct control_socket *s); /* removes the path */
void control_socket_forget(struct control_socket *s);

/* ---- rights of clients ---- */

struct control_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* owned: the others it is in */
    size_t group_count;
    char name[32]; /* of its program, escaped */
    enum control_level level;
};

struct control_rule { /* a user or a group, resolved */
    bool group;
    unsigned id;
    enum control_level level;
};

struct control_rules {
    struct control_rule *list; /* owned */
    size_t count;
    enum control_level others;
};

/* -1 with err: no such user or group. */
int control_rules_read(struct control_rules *r,
                       const struct control_settings *s, struct errmsg *err);
void control_rules_clear(struct control_rules *r);
/* The highest level of all rules that match; root and our own user: admin. */
enum control_level control_rules_level(const struct control_rules *r,
                                       const struct control_peer *p);
/* "admin" */
const char *control_level_name(enum control_level level);

/* ---- clients and calls ---- */

struct control {
    struct master *m;
    struct control_socket socket, next;
    struct control_rules rules, next_rules;
    const struct control_settings *next_settings; /* NULL: none prepared */
    struct acceptor *acceptor;                    /* NULL: no socket */
    struct list clients;
    unsigned count;
    struct timer log_level;  /* until it goes back */
    struct timer exceptions; /* until the first of them ends */
};

enum control_shape {
    SHAPE_NONE,
    SHAPE_OK,
    SHAPE_ERROR,
    SHAPE_LINES,
    SHAPE_PAIRS,
    SHAPE_TABLE,
};

struct control_call {
    struct control_client *client;
    const struct control_verb *verb;
    struct str words[CONTROL_WORDS]; /* of the verb, then behind it */
    size_t count, skip;              /* all; of the verb */
    bool json;
    struct json_out out;
    enum control_shape shape;
    const struct control_column *columns;
    size_t column;
    void *state; /* owned */
    void (*done)(void *state);
    struct timer again;
    bool wanted;       /* control_resume() was called */
    bool paused;       /* waits for the client to take the bytes so far */
    char failure[512]; /* "CODE text" once it failed */
};

struct control_client {
    struct list link;
    struct control *control;
    struct conn *conn; /* NULL once closed */
    struct control_peer peer;
    struct buf out;            /* owned: not sent yet */
    char *line;                /* owned: of the commands that run */
    struct str rest;           /* of it */
    struct control_call *call; /* owned: the one that runs; NULL: none */
    struct later step, destroy;
    struct timer timer;
    bool eof;     /* it will send no more */
    bool prompt;  /* it wants one */
    bool partial; /* a part of a line came */
    bool ending;  /* weir ends now */
};

/* Takes over the socket, and peer's groups. */
void control_client_new(struct control *c, const struct conn_socket *socket,
                        const struct control_peer *peer);
/* The end of weir: sends the client as much of its answer as it takes. */
void control_client_end(struct control_client *client);

/* ---- answers ---- */

/* A line of text while a command goes on; nothing in JSON. */
void control_progress(struct control_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends the answer that was begun, with the empty line. */
void control_answer_end(struct control_call *call);

/* ---- commands ---- */

/* Cuts a command's words out of *rest (up to ";" or the end); CONTROL_WORDS at
 * most.  -1 with err. */
int control_split(struct str *rest, struct str *words, size_t *count,
                  struct errmsg *err);
/* The command that the words begin with, its own words in *skip; NULL with
 * err. */
const struct control_verb *control_find(const struct str *words, size_t count,
                                        size_t *skip, struct errmsg *err);

/* The n-th of all commands, ours and then those of modules; NULL behind the
 * last. */
const struct control_verb *control_verb_at(size_t n);

#define CONTROL_ADDRESS (ADDR_TEXT + sizeof(((struct listener *)0)->path) + 8)
/* The name in "show listeners": "127.0.0.1:80", "unix:run/http". */
void control_listener_text(const struct listener *l, char *dst);

/* "test URL": of http or https. */
enum control_result control_test_url(struct control_call *call, struct str url);

extern const struct control_verb control_show_verbs[];
extern const struct control_verb control_process_verbs[];
extern const struct control_verb control_live_verbs[];
extern const struct control_verb control_do_verbs[];
extern const struct control_verb control_life_verbs[];
extern const struct control_verb control_except_verbs[];
extern const struct control_verb control_socket_verbs[];

/* The words from number i on: none (*ms is 0) or "for TIME", up to 7 days.
 * -1: they are something else, the call has failed. */
int control_read_for(struct control_call *call, size_t i, int64_t *ms);
/* Called by the timer of the first exception that ends. */
void control_exceptions_due(struct timer *t);

#endif
