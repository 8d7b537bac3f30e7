/*
 * Packets of both protocols.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio_wire.h"

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 64, DIGITS = 24 };

void
sio_reset(struct sio_wire *s)
{
    s->sid[0] = '\0';
    s->joined = false;
    s->heard = s->silence = 0;
}

/* Behind a member's colon; NULL: there is none of that name. */
static const char *
member(const char *json, size_t size, const char *name)
{
    char key[NAME_ROOM];
    size_t n = (size_t)snprintf(key, sizeof(key), "\"%s\":", name);
    const char *found = memmem(json, size, key, n);

    return found != NULL ? found + n : NULL;
}

int64_t
sio_number(const char *json, size_t size, const char *name)
{
    const char *at = member(json, size, name);
    char digits[DIGITS] = "";

    if (at == NULL) {
        return -1;
    }
    for (size_t i = 0; i < DIGITS - 1 && at + i < json + size; i++) {
        digits[i] = at[i];
    }
    return strspn(digits, "0123456789") > 0 ? strtoll(digits, NULL, 10) : -1;
}

/* "/" is not written. */
static void
send_in_space(struct sio_wire *s, char type, const char *json)
{
    bool named = strcmp(s->space, "/") != 0;
    size_t room = strlen(s->space) + strlen(json) + 4;
    char *packet = mem_new(room, 1);
    int n = snprintf(packet, room, "4%c%s%s%s", type, named ? s->space : "",
                     named ? "," : "", json);

    s->hooks->send(s->arg, packet, (size_t)n);
    mem_drop(&packet);
}

static int
take_open(struct sio_wire *s, const char *json, size_t size, int64_t now,
          const char **why)
{
    int64_t every = sio_number(json, size, "pingInterval");
    int64_t patience = sio_number(json, size, "pingTimeout");
    const char *sid = member(json, size, "sid");
    size_t n = 0;

    if (s->sid[0] != '\0' || sid == NULL || every <= 0 || patience <= 0) {
        *why = "a session that begins wrong, or twice";
        return -1;
    }
    for (sid++; sid < json + size && *sid != '"' && n < SIO_SID - 1; sid++) {
        s->sid[n++] = *sid;
    }
    s->sid[n] = '\0';
    s->heard = now;
    s->silence = (every + patience) * NS_PER_MS;
    send_in_space(s, '0', "");
    return 0;
}

/* Skips the namespace: it must be ours. */
static const char *
skip_space(const struct sio_wire *s, const char *p, const char *end)
{
    size_t n = strlen(s->space);

    if (strcmp(s->space, "/") == 0) {
        return p < end && *p == '/' ? NULL : p;
    }
    if ((size_t)(end - p) < n || memcmp(p, s->space, n) != 0) {
        return NULL;
    }
    return p + n < end && p[n] == ',' ? p + n + 1 : p + n;
}

static int
take_event(struct sio_wire *s, const char *p, const char *end, const char **why)
{
    const char *quote;
    struct sio_event e;

    while (p < end && *p >= '0' && *p <= '9') {
        p++; /* the number of an acknowledgement */
    }
    quote = end - p > 3 ? memchr(p + 2, '"', (size_t)(end - p) - 2) : NULL;
    if (!s->joined || quote == NULL || p[0] != '[' || end[-1] != ']') {
        *why = "an event that is none, or too early";
        return -1;
    }
    e.name = p + 2;
    e.name_size = (size_t)(quote - e.name);
    e.args = quote[1] == ',' ? quote + 2 : quote + 1;
    e.args_size = (size_t)(end - 1 - e.args);
    s->hooks->on_event(s->arg, &e);
    return 0;
}

static int
take_message(struct sio_wire *s, const char *p, size_t size, const char **why)
{
    const char *end = p + size;
    const char *rest = size > 0 ? skip_space(s, p + 1, end) : NULL;

    if (rest == NULL) {
        *why = "a packet of another namespace";
        return -1;
    }
    switch (p[0]) {
    case '0':
        s->joined = true;
        s->hooks->on_joined(s->arg);
        return 0;
    case '2':
        return take_event(s, rest, end, why);
    case '3':
        return 0;
    case '1':
        *why = "the server ended the namespace";
        return -1;
    case '4':
        *why = "the server refused the namespace";
        return -1;
    default:
        *why = "a packet of an unknown kind";
        return -1;
    }
}

int
sio_take(struct sio_wire *s, const char *packet, size_t size, int64_t now,
         const char **why)
{
    switch (size > 0 ? packet[0] : '\0') {
    case '0':
        return take_open(s, packet + 1, size - 1, now, why);
    case '2':
        s->heard = now;
        s->hooks->send(s->arg, "3", 1);
        return 0;
    case '4':
        return take_message(s, packet + 1, size - 1, why);
    case '6':
        return 0;
    case '1':
        *why = "the server ended the session";
        return -1;
    default:
        *why = "a packet of Engine.IO of an unknown kind";
        return -1;
    }
}

void
sio_emit(struct sio_wire *s, const char *name, const char *args)
{
    size_t room = strlen(args) + strlen(name) + 8;
    char *json = mem_new(room, 1);

    snprintf(json, room, "[\"%s\",%s]", name, args);
    send_in_space(s, '2', json);
    mem_drop(&json);
}
