/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "wyoming.h"

#include <string.h>

/* ---- lengths ---- */

/* A member that is a whole number from 0 to most; 0 if there is none. */
static int
take_length(const struct json_value *line, const char *name, size_t most,
            size_t *out, struct errmsg *err)
{
    const struct json_value *v = json_member(line, name);
    int64_t n = 0;

    *out = 0;
    if (v == NULL || v->kind == JSON_NULL) {
        return 0;
    }
    if (v->kind != JSON_NUMBER || !str_to_int(v->text, 0, (int64_t)most, &n)) {
        return errmsg_set(err, "%s must be a number from 0 to %zu", name, most);
    }
    *out = (size_t)n;
    return 0;
}

/* ---- events ---- */

static int
take_type(const struct json_value *line, struct wyoming_event *e,
          struct errmsg *err)
{
    e->type = json_member_str(line, "type");
    e->inner = json_member(line, "data");
    return e->type.len > 0 ? 0
                           : errmsg_set(err, "an event must have a \"type\"");
}

static const struct json_value *
read_object(struct pool *pool, struct str text, struct errmsg *err)
{
    const struct json_value *v = json_read(pool, text, err);

    if (v != NULL && v->kind != JSON_OBJECT) {
        errmsg_set(err, "must be an object");
        return NULL;
    }
    return v;
}

/* Where the line ends, with its end; 0: not yet. */
static size_t
find_line(struct wyoming_reader *r, struct str bytes)
{
    const char *end = NULL;

    if (bytes.len > r->seen) {
        end = memchr(bytes.ptr + r->seen, '\n', bytes.len - r->seen);
    }
    if (end == NULL) {
        r->seen = bytes.len;
        return 0;
    }
    r->seen = (size_t)(end - bytes.ptr);
    return r->seen + 1;
}

/* line bytes are a line; n is the length of that and the data. */
static int
read_event(struct wyoming_reader *r, struct pool *pool, struct str bytes,
           size_t line, struct wyoming_event *e, struct errmsg *err)
{
    const struct json_value *head =
        read_object(pool, str_first(bytes, line - 1), err);
    size_t data = 0, payload = 0;

    if (head == NULL) {
        return errmsg_prefix(err, "the line of an event: ");
    }
    if (take_length(head, "data_length", r->limit - line, &data, err) == -1 ||
        take_length(head, "payload_length", WYOMING_PAYLOAD_MAX, &payload,
                    err) == -1 ||
        take_type(head, e, err) == -1) {
        return -1;
    }
    if (bytes.len - line < data) {
        e->type = STR_NONE;
        r->needed = line + data;
        return 0;
    }
    if (data > 0) {
        e->outer = read_object(pool, str_of(bytes.ptr + line, data), err);
        if (e->outer == NULL) {
            return errmsg_prefix(err, "the data of an event: ");
        }
    }
    r->seen = 0;
    r->needed = 0;
    r->payload = payload;
    return (int)(line + data);
}

ssize_t
wyoming_read(struct wyoming_reader *r, struct pool *pool, struct str bytes,
             struct wyoming_event *e, struct errmsg *err)
{
    size_t line;

    *e = (struct wyoming_event){ .type = STR_NONE };
    if (r->payload > 0) {
        size_t dropped = r->payload < bytes.len ? r->payload : bytes.len;

        r->payload -= dropped;
        return (ssize_t)dropped;
    }
    if (bytes.len < r->needed) {
        return 0;
    }
    line = find_line(r, bytes);
    if (line > r->limit || (line == 0 && bytes.len >= r->limit)) {
        return errmsg_set(err, "an event is longer than %zu bytes", r->limit);
    }
    return line == 0 ? 0 : read_event(r, pool, bytes, line, e, err);
}

const struct json_value *
wyoming_member(const struct wyoming_event *e, const char *name)
{
    const struct json_value *v = json_member(e->outer, name);

    return v != NULL ? v : json_member(e->inner, name);
}
