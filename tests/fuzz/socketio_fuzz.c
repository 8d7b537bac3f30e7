/*
 * Fuzz target: packets of Socket.IO, and walking through JSON.
 *
 * A packet that is taken must be the same one when it is written again and read
 * again.  Each text that the strict reader of JSON takes, the walk takes too;
 * what it takes beyond that differs by the reader's own limits alone.
 *
 * covers: src/sio/sio_packet.c
 * covers: src/json/walk.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"
#include "sio/point.h"
#include "sio/sio_packet.h"
#include "json/walk.h"

static bool
is_event(const struct sio_packet *p)
{
    return p->type == SIO_PACKET_EVENT || p->type == SIO_PACKET_BINARY_EVENT;
}

static bool
lies_in(struct str part, struct str whole)
{
    return part.len == 0 || (part.ptr >= whole.ptr &&
                             part.ptr + part.len <= whole.ptr + whole.len);
}

static void
compare_readers(struct str text)
{
    struct pool *pool = pool_new(1024);
    struct errmsg err = { "" };
    bool read = json_read(pool, text, &err) != NULL;
    bool walked = json_walk(text, NULL, NULL) == 0;

    require(walked || !read);
    require(read || !walked || strstr(err.text, "not taken") != NULL ||
            strstr(err.text, "twice") != NULL ||
            strstr(err.text, "surrogate") != NULL);
    pool_free(&pool);
}

/* What was written is read again. */
static void
read_again(struct sio_frames *f, struct sio_packet *again, char **copy)
{
    const char *why;
    struct str text;

    require(f->count > 0 && f->frame[0]->len > 1 &&
            f->frame[0]->data[0] == '4');
    text = str_skip(ws_frame_str(f->frame[0]), 1);
    *copy = malloc(text.len);
    require(*copy != NULL);
    memcpy(*copy, text.ptr, text.len);
    require(sio_packet_read(again, str_of(*copy, text.len), &why) == 0);
    require(again->attachments == f->count - 1);
    sio_frames_let_go(f);
}

static void
write_event(const struct sio_packet *p, const struct sio_args *args)
{
    struct sio_packet again;
    struct sio_frames f;
    char *copy;

    sio_packet_event(&f, p->namespace_name, p->event, args, STR_NONE);
    read_again(&f, &again, &copy);
    require(is_event(&again) && str_eq(again.event, p->event) &&
            str_eq(again.args, p->args) &&
            str_eq(again.namespace_name, p->namespace_name));
    free(copy);
    sio_packet_event(&f, p->namespace_name, p->event, args, STR("12"));
    read_again(&f, &again, &copy);
    require(str_ends(again.args, STR("\"12\"")));
    free(copy);
}

static void
write_ack(const struct sio_packet *p, const struct sio_args *args)
{
    struct sio_packet again;
    struct sio_frames f;
    char *copy;

    sio_packet_ack(&f, p->namespace_name, p->id, args);
    read_again(&f, &again, &copy);
    require(str_eq(again.id, p->id) &&
            str_eq(again.namespace_name, p->namespace_name) &&
            str_eq(str_first(str_skip(again.json, 1), p->args.len), p->args));
    free(copy);
}

/* All that an event may be answered with. */
static void
write_again(const struct sio_packet *p)
{
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_args args = { p->args, attachments, p->attachments };
    struct errmsg err = { "" };

    for (size_t i = 0; i < SIO_ATTACHMENTS; i++) {
        attachments[i] = str_first(STR("attachment"), i);
    }
    if (p->type == SIO_PACKET_BINARY_EVENT && p->attachments > 0) {
        require(sio_check_args(&args, &err) == 0);
    }
    /* A name that is a number is written as a text, which may be reserved no
     * more than a number is. */
    write_event(p, &args);
    if (p->id.len > 0) {
        write_ack(p, &args);
    }
}

static void
write_answers(const struct sio_packet *p)
{
    struct sio_frames f;

    sio_packet_connected(&f, p->namespace_name, STR("sid"), p->id);
    require(str_starts(ws_frame_str(f.frame[0]), STR("40")));
    sio_frames_let_go(&f);
    sio_packet_refused(&f, p->namespace_name, "no", p->json);
    require(str_starts(ws_frame_str(f.frame[0]), STR("44")));
    sio_frames_let_go(&f);
    sio_packet_left(&f, p->namespace_name);
    require(str_starts(ws_frame_str(f.frame[0]), STR("41")));
    sio_frames_let_go(&f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sio_args args = { .attachment_count = size % 13 };
    struct errmsg err = { "" };
    struct sio_packet p;
    const char *why = NULL;
    char *copy = calloc(1, size); /* reading behind it is seen */
    struct str text = str_of(copy, size);

    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (sio_packet_read(&p, text, &why) == 0) {
        require(lies_in(p.json, text) && lies_in(p.args, p.json) &&
                lies_in(p.id, text) && p.attachments <= SIO_ATTACHMENTS &&
                p.namespace_name.len > 0 && p.namespace_name.ptr[0] == '/');
        write_answers(&p);
        if (is_event(&p)) {
            write_again(&p);
        }
    } else {
        require(why != NULL);
    }
    compare_readers(text);
    compare_readers(str_skip(text, 1));
    args.json = text;
    require(sio_check_args(&args, &err) == 0 || err.text[0] != '\0');
    require(sio_check_event(text, &err) == 0 || err.text[0] != '\0');
    free(copy);
    return 0;
}
