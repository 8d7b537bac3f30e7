/*
 * A function for each state eats one byte: it returns true when the byte is
 * right there, moving on scan->state, or false after saying why not.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/head_scan.h"

#include <assert.h>
#include <string.h>

#define METHOD_MAX 32
#define VERSION_LENGTH 8 /* of "HTTP/1.1" */

enum state {
    AT_START,    /* first byte of all */
    AT_START_LF, /* the LF of an empty line before the head */
    IN_STATUS,   /* the first line of an answer; mark: its begin */
    IN_METHOD,   /* mark: its begin, as for the next two */
    IN_TARGET,
    IN_VERSION,
    AT_LINE_LF, /* the LF of a line */
    AT_HEADER,  /* first byte of a line */
    IN_NAME,    /* mark: begin of the line, as for the next */
    IN_VALUE,
    AT_LAST_LF, /* the LF of the empty line */
    AT_END,
};

struct step {
    struct http_scan *scan;
    const uint8_t *data;
    const struct http_limits *limits;
};

static bool
refuse(struct http_scan *scan, enum http_refusal why)
{
    scan->why = (uint8_t)why;
    return false;
}

static void
move_to(struct http_scan *scan, enum state state)
{
    scan->state = (uint8_t)state;
    scan->mark = scan->at + 1;
}

static bool
is_letter(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

static bool
is_graphic(uint8_t c)
{
    return c > ' ' && c < 0x7f;
}

static bool
is_target_char(uint8_t c)
{
    return is_graphic(c) && c != '#';
}

static bool
scan_method(struct step *s, uint8_t c)
{
    size_t len = s->scan->at - s->scan->mark;

    if (is_letter(c)) {
        return len < METHOD_MAX || refuse(s->scan, REFUSE_METHOD);
    }
    if (c == '-' && len > 0 && len < METHOD_MAX) { /* M-SEARCH */
        return true;
    }
    if (c == ' ' && len > 0) {
        move_to(s->scan, IN_TARGET);
        return true;
    }
    return refuse(s->scan,
                  c == '\r' && len > 0 ? REFUSE_REQUEST_LINE : REFUSE_METHOD);
}

static bool
scan_target(struct step *s, uint8_t c)
{
    size_t len = s->scan->at - s->scan->mark;

    if (is_target_char(c)) {
        return len < s->limits->target || refuse(s->scan, REFUSE_TARGET_LONG);
    }
    if (c == ' ' && len > 0) {
        move_to(s->scan, IN_VERSION);
        return true;
    }
    if (c == '\r' && len > 0) { /* "GET /": HTTP/0.9 */
        return refuse(s->scan, REFUSE_VERSION);
    }
    return refuse(s->scan,
                  c == ' ' || c == '\r' ? REFUSE_REQUEST_LINE : REFUSE_TARGET);
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Judges a whole third word. */
static enum http_refusal
judge_version(const uint8_t *p, size_t n)
{
    if (n == VERSION_LENGTH && memcmp(p, "HTTP/1.", 7) == 0 &&
        (p[7] == '0' || p[7] == '1')) {
        return REFUSE_NONE;
    }
    if (n < 6 || memcmp(p, "HTTP/", 5) != 0) {
        return REFUSE_REQUEST_LINE;
    }
    for (size_t i = 5; i < n; i++) {
        if (!is_digit(p[i]) && p[i] != '.') {
            return REFUSE_REQUEST_LINE;
        }
    }
    return REFUSE_VERSION;
}

static bool
scan_version(struct step *s, uint8_t c)
{
    size_t len = s->scan->at - s->scan->mark;

    if (c != '\r') {
        return (is_graphic(c) && len < VERSION_LENGTH) ||
               refuse(s->scan, REFUSE_REQUEST_LINE);
    }
    enum http_refusal why = judge_version(s->data + s->scan->mark, len);

    move_to(s->scan, AT_LINE_LF);
    return why == REFUSE_NONE || refuse(s->scan, why);
}

static bool
scan_header_start(struct step *s, uint8_t c)
{
    if (c == '\r') {
        s->scan->state = AT_LAST_LF;
        return true;
    }
    if (c == ' ' || c == '\t') {
        return refuse(s->scan, REFUSE_FOLDED);
    }
    if (!http_is_token(c)) {
        return refuse(s->scan, REFUSE_NAME);
    }
    if (s->scan->headers >= s->limits->headers) {
        return refuse(s->scan, REFUSE_HEADER_COUNT);
    }
    s->scan->headers++;
    s->scan->mark = s->scan->at;
    s->scan->state = IN_NAME;
    return true;
}

static bool
line_fits(struct step *s)
{
    return s->scan->at - s->scan->mark < s->limits->header ||
           refuse(s->scan, REFUSE_HEADER_LONG);
}

/* Judges the first line of an answer (RFC 9112, 4); some servers leave out the
 * space in front of an empty reason. */
static enum http_refusal
judge_status_line(const uint8_t *p, size_t n)
{
    enum http_refusal why = n < 8 ? REFUSE_STATUS_LINE : judge_version(p, 8);

    if (why != REFUSE_NONE) {
        return why == REFUSE_VERSION ? why : REFUSE_STATUS_LINE;
    }
    if (n < 12 || p[8] != ' ' || p[9] < '1' || p[9] > '5' || !is_digit(p[10]) ||
        !is_digit(p[11]) || (n > 12 && p[12] != ' ')) {
        return REFUSE_STATUS_LINE;
    }
    return REFUSE_NONE;
}

static bool
scan_status(struct step *s, uint8_t c)
{
    if (c != '\r') {
        return line_fits(s);
    }
    enum http_refusal why =
        judge_status_line(s->data + s->scan->mark, s->scan->at - s->scan->mark);

    move_to(s->scan, AT_LINE_LF);
    return why == REFUSE_NONE || refuse(s->scan, why);
}

static bool
scan_name(struct step *s, uint8_t c)
{
    if (c == ':') {
        s->scan->state = IN_VALUE;
    } else if (!http_is_token(c)) {
        return refuse(s->scan, REFUSE_NAME);
    }
    return line_fits(s);
}

static bool
scan_value(struct step *s, uint8_t c)
{
    if (c == '\r') {
        s->scan->state = AT_LINE_LF;
        return true;
    }
    return line_fits(s);
}

static bool
scan_start(struct step *s, uint8_t c)
{
    if (c == '\r') {
        s->scan->state = AT_START_LF;
        return true;
    }
    s->scan->state = IN_METHOD;
    return scan_method(s, c);
}

static bool
scan_lf(struct step *s, uint8_t c, enum state next)
{
    if (c != '\n') {
        return refuse(s->scan, REFUSE_BARE_CR);
    }
    move_to(s->scan, next);
    if (next == IN_METHOD) {
        s->scan->begin = s->scan->mark;
    }
    return true;
}

static bool
scan_state(struct step *s, uint8_t c)
{
    switch ((enum state)s->scan->state) {
    case AT_START:
        return scan_start(s, c);
    case IN_STATUS:
        return scan_status(s, c);
    case IN_METHOD:
        return scan_method(s, c);
    case IN_TARGET:
        return scan_target(s, c);
    case IN_VERSION:
        return scan_version(s, c);
    case AT_HEADER:
        return scan_header_start(s, c);
    case IN_NAME:
        return scan_name(s, c);
    case IN_VALUE:
        return scan_value(s, c);
    case AT_START_LF:
        return scan_lf(s, c, IN_METHOD);
    case AT_LINE_LF:
        return scan_lf(s, c, AT_HEADER);
    case AT_LAST_LF:
        return scan_lf(s, c, AT_END);
    case AT_END:
        break;
    }
    assert(false && "a scan goes on behind its end");
    return false;
}

static bool
wants_lf(const struct http_scan *scan)
{
    return scan->state == AT_START_LF || scan->state == AT_LINE_LF ||
           scan->state == AT_LAST_LF;
}

/* Handles bytes that need no state. */
static bool
scan_byte(struct step *s, uint8_t c)
{
    if (s->scan->at - s->scan->begin >= s->limits->head) {
        return refuse(s->scan, REFUSE_HEAD_LONG);
    }
    if (wants_lf(s->scan)) {
        return scan_state(s, c);
    }
    if (c == '\n') {
        return refuse(s->scan, REFUSE_BARE_LF);
    }
    if (c == 0x7f || (c < ' ' && c != '\r' && c != '\t')) {
        return refuse(s->scan, REFUSE_CONTROL);
    }
    return scan_state(s, c);
}

/* ---- runs of bytes that a state eats without anything to say ---- */

static bool
is_value_char(uint8_t c)
{
    return c >= ' ' && c != 0x7f;
}

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Inline, so that each loop has its own test and calls nothing. */
static inline __attribute__((always_inline)) size_t
run_of(const struct step *s, size_t end, bool (*fits)(uint8_t c))
{
    size_t at = s->scan->at;

    while (at < end && fits(s->data[at])) {
        at++;
    }
    return at;
}

#define EACH UINT64_C(0x0101010101010101)
#define HIGH (EACH * 0x80)

/* Whether one of eight bytes is none of a value. */
static bool
ends_value(const uint8_t *p)
{
    uint64_t eight, deleted;

    memcpy(&eight, p, sizeof(eight));
    deleted = eight ^ EACH * 0x7f;
    return (((eight - EACH * ' ') & ~eight) | ((deleted - EACH) & ~deleted)) &
           HIGH;
}

/* As run_of(), for the longest runs. */
static size_t
run_of_value(struct step *s, size_t end)
{
    size_t at = s->scan->at;

    while (at + 8 <= end && !ends_value(s->data + at)) {
        at += 8;
    }
    s->scan->at = (uint32_t)at;
    return run_of(s, end, is_value_char);
}

/* The end of a line that came whole, before end. */
static void
skip_line_end(struct step *s, size_t end)
{
    const uint8_t *next = s->data + s->scan->at;

    if (s->scan->at + 2 <= end && next[0] == '\r' && next[1] == '\n') {
        s->scan->at++;
        move_to(s->scan, AT_HEADER);
        s->scan->at++;
    }
}

static void
skip_value(struct step *s, size_t end)
{
    size_t line = (size_t)s->scan->mark + s->limits->header;

    s->scan->at = (uint32_t)run_of_value(s, least(end, line));
    skip_line_end(s, end);
}

/* Of a header that came whole, all that is left. */
static void
skip_header(struct step *s, size_t end)
{
    size_t line = least(end, (size_t)s->scan->mark + s->limits->header);
    size_t at = run_of(s, line, http_is_token);

    s->scan->at = (uint32_t)at;
    if (at < line && s->data[at] == ':') {
        s->scan->at++;
        s->scan->state = IN_VALUE;
        skip_value(s, end);
    }
}

static inline __attribute__((always_inline)) void
skip_word(struct step *s, size_t end, size_t longest, bool (*fits)(uint8_t c))
{
    end = least(end, (size_t)s->scan->mark + longest);
    s->scan->at = (uint32_t)run_of(s, end, fits);
}

/* Moves over what scan_byte() would take byte by byte; what is of interest, or
 * too long, is left to it. */
static void
skip_run(struct step *s, size_t n)
{
    size_t end = least(n, (size_t)s->scan->begin + s->limits->head);

    switch ((enum state)s->scan->state) {
    case IN_VALUE:
        skip_value(s, end);
        break;
    case IN_NAME:
        skip_header(s, end);
        break;
    case IN_STATUS:
        skip_word(s, end, s->limits->header, is_value_char);
        break;
    case IN_TARGET:
        skip_word(s, end, s->limits->target, is_target_char);
        break;
    case IN_METHOD:
        skip_word(s, end, METHOD_MAX, is_letter);
        break;
    case IN_VERSION:
        skip_word(s, end, VERSION_LENGTH, is_graphic);
        break;
    case AT_START:
    case AT_START_LF:
    case AT_LINE_LF:
    case AT_HEADER:
    case AT_LAST_LF:
    case AT_END:
        break;
    }
}

ssize_t
http_scan(struct http_scan *scan, const uint8_t *data, size_t n,
          const struct http_limits *limits)
{
    struct step s = { scan, data, limits };

    if (scan->why != REFUSE_NONE) {
        return -1;
    }
    while (scan->at < n) {
        if (!scan_byte(&s, data[scan->at])) {
            return -1;
        }
        scan->at++;
        if (scan->state == AT_END) {
            return (ssize_t)scan->at;
        }
        skip_run(&s, n);
    }
    return 0;
}

ssize_t
http_scan_answer(struct http_scan *scan, const uint8_t *data, size_t n,
                 const struct http_limits *limits)
{
    if (scan->state == AT_START) {
        scan->state = IN_STATUS;
    }
    return http_scan(scan, data, n, limits);
}
