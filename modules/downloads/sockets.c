/*
 * Endpoints of Socket.IO: what each client is told first, and then.
 *
 * The channel knows nothing of downloads: snapshots are asked of the fetcher,
 * events come from there (fetcher/tell.h).  Events of clients are ignored.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "downloads.h"

#include <stdio.h>

static const struct str words[] = {
    [PAYLOAD_OBJECT] = { "object", 6 },
    [PAYLOAD_STRING] = { "string", 6 },
};

struct str
downloads_endpoint(struct str instance, int payload,
                   char room[static DOWNLOADS_ENDPOINT])
{
    struct str name = str_first(instance, DOWNLOADS_NAME_MAX);
    int len = snprintf(room, DOWNLOADS_ENDPOINT, "%.*s%s", STR_ARGS(name),
                       payload == PAYLOAD_STRING ? "/string" : "");

    return str_of(room, (size_t)len);
}

bool
downloads_endpoint_read(struct str request, struct str *instance, int *payload)
{
    *instance = str_cut(&request, '\n');
    *payload = str_eq(request, words[PAYLOAD_STRING]) ? PAYLOAD_STRING
                                                      : PAYLOAD_OBJECT;
    if (*payload == PAYLOAD_STRING) {
        *instance = str_cut(instance, '/');
    }
    return instance->len > 0 && str_eq(request, words[*payload]);
}

static bool
find_endpoint(struct pool *p, const void *layer, struct sio_endpoint *out)
{
    const struct downloads_settings *s = layer;
    char room[DOWNLOADS_ENDPOINT];

    if (s->instance.settings == NULL) {
        return false;
    }
    *out = (struct sio_endpoint){
        .name = pool_str(
            p, downloads_endpoint(s->instance.name, s->event_payload, room)),
        .variant = words[s->event_payload],
        .settings = &s->sockets,
    };
    return true;
}

static const struct sio_snapshot snapshots[] = {
    { "all", &downloads_methods[DOWNLOADS_ALL] },
    { "configuration", &downloads_methods[DOWNLOADS_CONFIGURATION] },
    { "custom_dirs", &downloads_methods[DOWNLOADS_CUSTOM_DIRS] },
    { "engine_options_changed", &downloads_methods[DOWNLOADS_OPTIONS_CHANGED] },
    { "ytdl_options_changed", &downloads_methods[DOWNLOADS_OPTIONS_ALIAS] },
    { .event = NULL },
};

static const struct sio_namespace namespaces[] = {
    { .name = "/", .snapshots = snapshots },
    { .name = NULL },
};

const struct sio_module downloads_sockets = { .endpoint = find_endpoint,
                                              .namespaces = namespaces };
