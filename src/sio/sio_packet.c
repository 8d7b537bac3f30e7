/*
 * Reading: the head byte by byte, then one walk through the JSON, which finds
 * the event's name and judges placeholders.  Writing: a small head, then the
 * arguments as they are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/sio_packet.h"

#include <string.h>

#include "base/utf8.h"
#include "sio/point.h"
#include "json/json.h"
#include "json/walk.h"

#define HEAD_MAX (16 + 3 * SIO_NAME_MAX + 6 * SIO_NAME_MAX)
#define TEXT_MAX 4096 /* of a refusal's message, written as JSON */

/* ---- names ---- */

/* Events that clients tell to themselves; one that is sent ends a JavaScript
 * client's connection. */
static bool
is_reserved(struct str name)
{
    static const char *const names[] = {
        "connect",       "connect_error", "disconnect",
        "disconnecting", "newListener",   "removeListener",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_eq(name, str_from(names[i]))) {
            return true;
        }
    }
    return false;
}

int
sio_check_event(struct str name, struct errmsg *err)
{
    if (name.len == 0 || name.len > SIO_NAME_MAX || !utf8_valid(name)) {
        return errmsg_set(err,
                          "an event's name has 1 to %d bytes of UTF-8, "
                          "not %zu",
                          SIO_NAME_MAX, name.len);
    }
    if (is_reserved(name)) {
        return errmsg_set(err, "the event's name \"%.*s\" is the clients' own",
                          STR_ARGS(name));
    }
    return 0;
}

/* ---- JSON: placeholders ---- */

/* An object that the walk is inside of. */
struct object {
    bool is_placeholder;
    bool has_number; /* its "num" is that of an attachment */
};

struct judge {
    struct sio_packet *packet; /* NULL: arguments alone are judged */
    size_t attachments;
    bool binary; /* placeholders count */
    enum { OTHER, PLACEHOLDER, NUM } member;
    struct object objects[JSON_WALK_DEPTH + 1];
    size_t name_end; /* of the JSON, up to and with the event's name */
    enum json_kind kind, name_kind;
    bool has_name;
    const char *why;
};

static bool
refuse(struct judge *j, const char *why)
{
    j->why = why;
    return false;
}

static void
note_member(struct judge *j, const struct json_step *s)
{
    struct object *o = &j->objects[s->depth - 1];
    int64_t n;

    if (j->member == PLACEHOLDER) {
        o->is_placeholder = s->kind == JSON_BOOL && s->truth;
    } else if (j->member == NUM) {
        o->has_number = s->kind == JSON_NUMBER && j->attachments > 0 &&
                        str_to_int(s->text, 0, (int64_t)j->attachments - 1, &n);
    }
    j->member = OTHER;
}

static bool
judge_placeholders(struct judge *j, const struct json_step *s)
{
    if (s->is == JSON_STEP_NAME) {
        j->member = str_eq(s->text, STR("_placeholder")) ? PLACEHOLDER
                    : str_eq(s->text, STR("num"))        ? NUM
                                                         : OTHER;
        return true;
    }
    if (s->is == JSON_STEP_END) {
        struct object *o = &j->objects[s->depth];

        return s->kind != JSON_OBJECT || !o->is_placeholder || o->has_number ||
               refuse(j, "a placeholder names no attachment");
    }
    if (j->member != OTHER) {
        note_member(j, s);
    }
    if (s->kind == JSON_OBJECT) {
        j->objects[s->depth] = (struct object){ false, false };
    }
    return true;
}

/* ---- JSON: the event's name ---- */

static bool
take_name(struct judge *j, const struct json_step *s)
{
    struct sio_packet *p = j->packet;

    if (s->kind != JSON_STRING && s->kind != JSON_NUMBER) {
        return refuse(j, "the event has no name");
    }
    if (s->text.len > sizeof(p->name) || !utf8_valid(s->text)) {
        return refuse(j, "the event's name is too long, or not UTF-8");
    }
    if (s->kind == JSON_STRING && is_reserved(s->text)) {
        return refuse(j, "the event's name is reserved");
    }
    if (s->text.len > 0) {
        memcpy(p->name, s->text.ptr, s->text.len);
    }
    p->event = str_of(p->name, s->text.len);
    j->name_end = s->end;
    j->has_name = true;
    return true;
}

static bool
on_step(void *arg, const struct json_step *s)
{
    struct judge *j = arg;
    bool event;

    if (s->depth == 0 && s->is == JSON_STEP_VALUE) {
        j->kind = s->kind;
    }
    event = j->packet != NULL && (j->packet->type == SIO_PACKET_EVENT ||
                                  j->packet->type == SIO_PACKET_BINARY_EVENT);
    if (event && !j->has_name && s->depth == 1 && j->kind == JSON_ARRAY &&
        !take_name(j, s)) {
        return false;
    }
    return !j->binary || judge_placeholders(j, s);
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct str
trim(struct str s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

/* The text between the name and the end of the array. */
static void
find_args(struct sio_packet *p, size_t name_end)
{
    struct str rest = trim(str_skip(p->json, name_end));

    rest.len--; /* ']' */
    rest = trim(rest);
    p->args = trim(str_skip(rest, 1)); /* ',' */
}

/* ---- reading ---- */

static bool
is_binary(const struct sio_packet *p)
{
    return p->type == SIO_PACKET_BINARY_EVENT ||
           p->type == SIO_PACKET_BINARY_ACK;
}

static int
fail(const char **why, const char *text)
{
    *why = text;
    return -1;
}

static int
read_json(struct sio_packet *p, const char **why)
{
    struct judge j = { .packet = p, .attachments = p->attachments };
    enum json_kind wanted =
        p->type == SIO_PACKET_CONNECT ? JSON_OBJECT : JSON_ARRAY;

    if (p->type == SIO_PACKET_DISCONNECT || p->json.len == 0) {
        return p->json.len == 0 && p->type <= SIO_PACKET_DISCONNECT
                   ? 0
                   : fail(why, "what follows the head is wrong for its type");
    }
    j.binary = is_binary(p);
    if (json_walk(p->json, on_step, &j) == -1) {
        return fail(why, j.why != NULL ? j.why : "its JSON is not valid");
    }
    if (j.kind != wanted) {
        return fail(why, "what follows the head is wrong for its type");
    }
    if (j.has_name) {
        find_args(p, j.name_end);
        return 0;
    }
    return wanted == JSON_OBJECT || p->type == SIO_PACKET_ACK ||
                   p->type == SIO_PACKET_BINARY_ACK
               ? 0
               : fail(why, "the event has no name");
}

static size_t
digits(struct str s)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9') {
        n++;
    }
    return n;
}

static int
read_attachments(struct sio_packet *p, struct str *rest, const char **why)
{
    size_t n = digits(*rest);
    int64_t count;

    if (n == rest->len || rest->ptr[n] != '-' ||
        !str_to_int(str_first(*rest, n), 0, SIO_ATTACHMENTS, &count)) {
        return fail(why, "the number of attachments is wrong");
    }
    p->attachments = (size_t)count;
    *rest = str_skip(*rest, n + 1);
    return 0;
}

static int
read_namespace(struct sio_packet *p, struct str *rest, const char **why)
{
    p->namespace_name = STR("/");
    if (rest->len == 0 || rest->ptr[0] != '/') {
        return 0;
    }
    p->namespace_name = str_cut(rest, ',');
    if (p->namespace_name.len > SIO_NAME_MAX ||
        !utf8_valid(p->namespace_name)) {
        return fail(why, "the namespace's name is too long, or not UTF-8");
    }
    return 0;
}

int
sio_packet_read(struct sio_packet *p, struct str text, const char **why)
{
    struct str rest = str_skip(text, 1);
    size_t n;

    if (text.len == 0 || text.ptr[0] < '0' || text.ptr[0] > '6' ||
        text.ptr[0] == '0' + SIO_PACKET_CONNECT_ERROR) {
        return fail(why, "its type is none that a client may send");
    }
    p->type = (enum sio_packet_type)(text.ptr[0] - '0');
    p->attachments = 0;
    p->event = p->args = STR_NONE;
    if ((is_binary(p) && read_attachments(p, &rest, why) == -1) ||
        read_namespace(p, &rest, why) == -1) {
        return -1;
    }
    n = digits(rest);
    p->id = str_first(rest, n);
    p->json = str_skip(rest, n);
    if (n > SIO_PACKET_ID_DIGITS ||
        (n > 0 && p->type <= SIO_PACKET_DISCONNECT)) {
        return fail(why, "its ack id is wrong");
    }
    return read_json(p, why);
}

int
sio_check_args(const struct sio_args *args, struct errmsg *err)
{
    struct judge j = { .attachments = args->attachment_count, .binary = true };
    struct buf array;
    bool good;

    if (args->attachment_count > SIO_ATTACHMENTS) {
        return errmsg_set(err, "%zu attachments; at most %d are allowed",
                          args->attachment_count, SIO_ATTACHMENTS);
    }
    if (args->json.len == 0) {
        return 0;
    }
    buf_init(&array, args->json.len + 2);
    good = buf_add(&array, "[", 1) == 0 &&
           buf_add_str(&array, args->json) == 0 && buf_add(&array, "]", 1) == 0;
    if (!good) {
        errmsg_set(err, "no memory for %zu bytes of arguments", args->json.len);
    } else if (json_walk(buf_str(&array), on_step, &j) == -1) {
        good = false;
        errmsg_set(err, "wrong arguments: %s",
                   j.why != NULL ? j.why : "not JSON values with commas");
    }
    buf_clear(&array);
    return good ? 0 : -1;
}

/* ---- writing ---- */

void
sio_frames_let_go(struct sio_frames *f)
{
    for (size_t i = 0; i < f->count; i++) {
        ws_frame_let_go(&f->frame[i]);
    }
    f->count = 0;
}

void
sio_frames_hold(struct sio_frames *to, const struct sio_frames *f)
{
    *to = *f;
    for (size_t i = 0; i < f->count; i++) {
        ws_frame_hold(f->frame[i]);
    }
}

static bool
add_frame(struct sio_frames *f, size_t len, bool binary)
{
    struct ws_frame *made = ws_frame_new(len, binary);

    if (made == NULL) {
        sio_frames_let_go(f);
        return false;
    }
    f->frame[f->count++] = made;
    f->bytes += len;
    return true;
}

/* '4', the type, the number of attachments, the namespace, the id. */
static void
write_head(struct buf *head, enum sio_packet_type type, size_t attachments,
           struct str namespace_name, struct str id)
{
    buf_init(head, HEAD_MAX + TEXT_MAX);
    buf_printf(head, "4%d", (int)type);
    if (attachments > 0) {
        buf_printf(head, "%zu-", attachments);
    }
    if (!str_eq(namespace_name, STR("/"))) {
        buf_add_str(head, namespace_name); /* a NUL may be in it */
        buf_add(head, ",", 1);
    }
    buf_add_str(head, id);
}

/* One text frame of these parts. */
static bool
add_text(struct sio_frames *f, const struct str *parts, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++) {
        len += parts[i].len;
    }
    if (!add_frame(f, len, false)) {
        return false;
    }
    len = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > 0) {
            memcpy(f->frame[0]->data + len, parts[i].ptr, parts[i].len);
        }
        len += parts[i].len;
    }
    return true;
}

static void
add_attachments(struct sio_frames *f, const struct sio_args *args)
{
    for (size_t i = 0; i < args->attachment_count; i++) {
        struct str from = args->attachments[i];

        if (!add_frame(f, from.len, true)) {
            return;
        }
        if (from.len > 0) {
            memcpy(f->frame[f->count - 1]->data, from.ptr, from.len);
        }
    }
}

static void
write_string(struct buf *to, struct str text)
{
    struct json_out o;

    json_begin(&o, to, false);
    json_str(&o, text);
    json_end(&o);
}

void
sio_packet_event(struct sio_frames *f, struct str namespace_name,
                 struct str event, const struct sio_args *args,
                 struct str offset)
{
    enum sio_packet_type type =
        args->attachment_count > 0 ? SIO_PACKET_BINARY_EVENT : SIO_PACKET_EVENT;
    struct buf head;

    *f = (struct sio_frames){ .count = 0 };
    write_head(&head, type, args->attachment_count, namespace_name, STR_NONE);
    buf_add(&head, "[", 1);
    write_string(&head, event);

    struct str parts[] = {
        buf_str(&head), args->json.len > 0 ? STR(",") : STR_NONE,
        args->json,     offset.len > 0 ? STR(",\"") : STR_NONE,
        offset,         offset.len > 0 ? STR("\"") : STR_NONE,
        STR("]"),
    };

    if (add_text(f, parts, sizeof(parts) / sizeof(parts[0]))) {
        add_attachments(f, args);
    }
    buf_clear(&head);
}

void
sio_packet_ack(struct sio_frames *f, struct str namespace_name, struct str id,
               const struct sio_args *args)
{
    enum sio_packet_type type =
        args->attachment_count > 0 ? SIO_PACKET_BINARY_ACK : SIO_PACKET_ACK;
    struct buf head;

    *f = (struct sio_frames){ .count = 0 };
    write_head(&head, type, args->attachment_count, namespace_name, id);

    struct str parts[] = { buf_str(&head), STR("["), args->json, STR("]") };

    if (add_text(f, parts, sizeof(parts) / sizeof(parts[0]))) {
        add_attachments(f, args);
    }
    buf_clear(&head);
}

void
sio_packet_connected(struct sio_frames *f, struct str namespace_name,
                     struct str sid, struct str pid)
{
    struct buf head;

    *f = (struct sio_frames){ .count = 0 };
    write_head(&head, SIO_PACKET_CONNECT, 0, namespace_name, STR_NONE);
    buf_printf(&head, "{\"sid\":\"%.*s\"", STR_ARGS(sid));
    if (pid.len > 0) {
        buf_printf(&head, ",\"pid\":\"%.*s\"", STR_ARGS(pid));
    }
    buf_add(&head, "}", 1);
    add_text(f, &(struct str){ (const char *)buf_data(&head), buf_len(&head) },
             1);
    buf_clear(&head);
}

void
sio_packet_refused(struct sio_frames *f, struct str namespace_name,
                   const char *message, struct str data)
{
    struct buf head;

    *f = (struct sio_frames){ .count = 0 };
    write_head(&head, SIO_PACKET_CONNECT_ERROR, 0, namespace_name, STR_NONE);
    buf_add_str(&head, STR("{\"message\":"));
    write_string(&head, str_first(str_from(message), TEXT_MAX / 8));

    struct str parts[] = {
        buf_str(&head),
        data.len > 0 ? STR(",\"data\":") : STR_NONE,
        data,
        STR("}"),
    };

    add_text(f, parts, sizeof(parts) / sizeof(parts[0]));
    buf_clear(&head);
}

void
sio_packet_left(struct sio_frames *f, struct str namespace_name)
{
    struct buf head;
    struct str text;

    *f = (struct sio_frames){ .count = 0 };
    write_head(&head, SIO_PACKET_DISCONNECT, 0, namespace_name, STR_NONE);
    text = buf_str(&head);
    add_text(f, &text, 1);
    buf_clear(&head);
}
