/*
 * Why a request is refused before (or instead of) being served: the rules of
 * framing, sizes and time, each with its status, its words and its counter.
 *
 * Those of framing, sizes and time end the connection after the answer: the
 * bytes behind a broken rule cannot be trusted to be a request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_REFUSAL_H
#define HTTP_REFUSAL_H

#include "net/addr.h"
#include "proc/refused.h"

#include <stdint.h>

enum http_refusal {
    REFUSE_NONE,
    REFUSE_CONTROL,      /* NUL or another control byte */
    REFUSE_BARE_CR,      /* CR without LF */
    REFUSE_BARE_LF,      /* LF without CR */
    REFUSE_REQUEST_LINE, /* not "METHOD target HTTP/x.y" */
    REFUSE_STATUS_LINE,  /* of an answer: not "HTTP/x.y 200 reason" */
    REFUSE_METHOD,       /* not 1 to 32 upper-case letters */
    REFUSE_NO_METHOD,    /* a method that HTTP does not know */
    REFUSE_CONNECT,      /* weir is no proxy */
    REFUSE_TRACE,        /* would show a page secret headers */
    REFUSE_TARGET,       /* bytes or form that a target cannot have */
    REFUSE_TARGET_LONG,
    REFUSE_PATH,    /* bad percent-encoding, NUL, above the root */
    REFUSE_VERSION, /* another HTTP than 1.0 and 1.1 */
    REFUSE_FOLDED,  /* a header line that begins with a space */
    REFUSE_NAME,    /* empty, not a token, space before the colon */
    REFUSE_HEADER_LONG,
    REFUSE_HEADER_COUNT,
    REFUSE_HEAD_LONG,
    REFUSE_NO_HOST,
    REFUSE_HOSTS,        /* two */
    REFUSE_HOST,         /* malformed, or another than the target's */
    REFUSE_LENGTH,       /* Content-Length: not digits, a list, too big */
    REFUSE_LENGTHS,      /* two */
    REFUSE_CODING,       /* Transfer-Encoding other than "chunked" */
    REFUSE_CODINGS,      /* two */
    REFUSE_CODING_ON_10, /* in HTTP/1.0 */
    REFUSE_BOTH,         /* Content-Length and Transfer-Encoding */
    REFUSE_UPGRADE_BODY,
    REFUSE_EXPECT, /* Expect other than 100-continue */
    REFUSE_CHUNK,  /* size, or the line ends around it */
    REFUSE_CHUNK_EXTENSION,
    REFUSE_TRAILER,
    REFUSE_BODY_LONG,
    REFUSE_OTHER_NAME, /* Host is not what the handshake was for */
    REFUSE_PATTERN,    /* a pattern passes its limits */
    REFUSE_REWRITES,   /* rules turn in a circle */
    REFUSE_TEXT_LONG,  /* a text with variables */
    REFUSE_NOT_TLS,    /* plain, at an address for https */
    REFUSE_TLS,        /* the other way round */
    REFUSE_HEAD_SLOW,  /* time-outs */
    REFUSE_BODY_SLOW,
    /* The filters of a location; the connection may go on. */
    REFUSE_MISDIRECTED, /* the name in Host is none of ours */
    REFUSE_ACCESS,      /* the client's address */
    REFUSE_RATE,
    REFUSE_ORIGIN,        /* cors: preflight from another origin */
    REFUSE_AUTH,          /* no proof, or a wrong one */
    REFUSE_RIGHT,         /* a known user without the right */
    REFUSE_AUTHORIZATION, /* malformed */
    REFUSE_BUSY,          /* too many passwords to check */
    REFUSE_SITE,          /* a page of another site would change something */
    /* Whole connections; those of other protocols are
     * counted here, too. */
    REFUSE_CONNECTIONS, /* too many of the address */
    REFUSE_INCOMPLETE,  /* too many of it without a whole head */
    REFUSE_SHED,        /* idle, and its place was needed */
    REFUSE_READS_SLOW,  /* takes an answer too slowly */
    REFUSE_UNSENT,      /* the slowest, when too much is kept for all */
    REFUSE_COUNT
};

int http_refusal_status(enum http_refusal why);
const char *http_refusal_text(enum http_refusal why);

/* "bare_cr", for the counter's label; NULL for none. */
const char *http_refusal_name(unsigned why);
/* Counts one. */
void http_refusal_add(enum http_refusal why);
/* Logs it, within limits because a client often repeats a refused request, and
 * notes it for "show errors".  proto is as in struct refused; bytes are the
 * request line, or empty. */
void http_refusal_say(enum http_refusal why, const char *proto,
                      const struct addr *peer, struct str bytes);

#endif
