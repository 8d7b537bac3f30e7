/*
 * Remote procedure calls: a process asks a role, and is answered.
 *
 * A method is a row: its name, the role that serves it, who may call it, how
 * long its messages are.  The master registers all rows before any fork, so
 * that all processes agree on their numbers.
 *
 * A call ends once: with the last answer, with an error, or because its caller
 * cancels it.  Before the last answer any number of parts may come, as many as
 * the caller granted.  Caller and role both have the deadline, which the caller
 * may put off as long as it is served.
 *
 * When a role dies, its calls end with RPC_DIED; nobody knows whether it did
 * them.  A call with `resend` goes to the role's next process instead, which
 * may do it a second time: only for methods that may safely be repeated.
 *
 * Calls are bounded in number and bytes, in the caller and in the role, which
 * refuse at once a call that does not fit.  While an answer waits for room in a
 * mailbox, calls to that process are refused as when it is full, or wait: what
 * a process says arrives in the order in which it said it.  An answer counts
 * only when the process that was asked sends it.  The bus reads messages into
 * memory of its own and maps none.
 *
 * rpc.c registers methods and follows processes that come and go, rpc_call.c is
 * the caller's side, rpc_serve.c the role's, rpc_wire.c the bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_RPC_H
#define PROC_RPC_H

#include "proc/bus.h"

#define RPC_OPEN_MAX 4096    /* calls of a method in a caller, at most */
#define RPC_WINDOW_MAX 4096  /* parts that may be granted at once */
#define RPC_TEXT_MAX 1024    /* bytes of an error, at most */
#define RPC_WAIT_MAX 3600000 /* ms until a deadline */
/* Bytes of the requests of a method that a role has, all together. */
#define RPC_BYTES_MAX ((size_t)64 << 20)

struct rpc_state;

struct rpc_method {
    const char *name;   /* "relay.order": its own; NULL ends a table */
    const char *role;   /* "relayer": its processes serve it */
    const char *caller; /* who may call: BUS_MASTER or BUS_ANYBODY */
    size_t request_max; /* bytes of a request */
    size_t answer_max;  /* of a part or answer; 32000 where the master calls */
    unsigned open_max;  /* calls in a caller, up to RPC_OPEN_MAX */
    struct rpc_state *state; /* owned; by rpc_register() */
};

/* Master, before any fork.  -1 with err: two methods have one name, or there
 * are too many. */
int rpc_register(struct rpc_method *table, struct errmsg *err);
void rpc_destroy(void); /* forgets all methods */

/* Master and each child, after bus_open() and before bus_close().  rpc_close()
 * ends the calls that are open with RPC_DIED. */
void rpc_open(struct loop *l);
void rpc_close(void);

/* Master: a process ended, or a role is READY; tells all processes. */
void rpc_peers_changed(void);

/* ---- asking ---- */

enum rpc_status {
    RPC_MORE,    /* a part; more follows */
    RPC_OK,      /* the last answer */
    RPC_REFUSED, /* the role says no; data is the reason */
    RPC_DIED,    /* its process ended */
    RPC_LATE,    /* the deadline */
    RPC_BROKEN,  /* it sent more than was granted */
};

struct rpc_answer {
    enum rpc_status status;
    const void *data; /* borrowed for the callback; text where it failed */
    size_t len;
    int fd; /* came along, or -1; the callback owns it when it sets -1 */
};

/* Called for each answer.  Any status but RPC_MORE ends the call, whose pointer
 * is not valid any more. */
typedef void rpc_on_answer(void *arg, struct rpc_answer *a);

struct rpc_options {
    uint32_t index;     /* which of the role's processes */
    int64_t timeout_ms; /* 1 to RPC_WAIT_MAX */
    unsigned window;    /* parts that are granted from the start */
    bool resend; /* see above; a call that got a part is not sent again */
    rpc_on_answer *on_answer;
    void *arg;
};

struct rpc_call;

/* Sends a request, whose data and fd stay the caller's.  on_answer is called
 * later, never from within.  NULL with err: the role does not run (with resend
 * the call waits for it), takes no more, or open_max calls are open. */
struct rpc_call *rpc_call(const struct rpc_method *m,
                          const struct rpc_options *o, const void *data,
                          size_t len, int fd, struct errmsg *err);
/* The role may send n parts more. */
void rpc_grant(struct rpc_call *c, unsigned n);
/* The deadline is timeout_ms from now, for the role too: for calls that last as
 * long as somebody takes what they bring. */
void rpc_prolong(struct rpc_call *c);
/* The call is over without an answer; *c is cleared, NULL is fine. */
void rpc_cancel(struct rpc_call **c);

/* ---- answering ---- */

/* A request, from the handler's call until rpc_reply() or rpc_refuse(). */
struct rpc_request {
    const void *data; /* owned, as long as the request */
    size_t len;
    int fd; /* came along, or -1; closed with the request unless it is -1 */
    slot_owner from;
    bool gone; /* nobody waits: it was cancelled, is late, or its caller died */
    /* Set by the handler; each may be NULL.  They may end the request. */
    void (*on_room)(void *arg); /* rpc_part() may succeed again */
    void (*on_gone)(void *arg); /* gone was set; end the request soon */
    void *arg;
};

/* Ends r, now or later: by rpc_reply() or rpc_refuse(). */
typedef void rpc_handler(void *arg, struct rpc_request *r);

/* A role that stops: new requests are refused; it may still end those that it
 * has, until rpc_close(). */
void rpc_stop_serving(void);
/* The role, when it starts: takes the requests of m. */
void rpc_serve(const struct rpc_method *m, rpc_handler *handler, void *arg);

/* Sends one answer of several.  -1: the window is used up, the mailbox is
 * full, or the request is gone; on_room is called when that has changed. */
int rpc_part(struct rpc_request *r, const void *data, size_t len, int fd);
/* The last answer, which needs no window and waits for room until the
 * deadline, unless answers of 64 MB wait already: then the caller is told so;
 * data and fd stay the caller's, *r is freed and cleared. */
void rpc_reply(struct rpc_request **r, const void *data, size_t len, int fd);
/* The same, with the reason why not. */
void rpc_refuse(struct rpc_request **r, const char *text);

#endif
