/*
 * Refusals as records: protocol, peer, offset, reason and bytes, a line each.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/refused.h"

#include <stdio.h>
#include <string.h>

#include "base/mask.h"

#define KEPT 256    /* refusals */
#define LOOKED 4096 /* bytes of a request that are looked at */
#define BEFORE 96   /* bytes shown in front of the offset ... */
#define SHOWN 160   /* ... and of all, before they are escaped */
#define REASON_MAX 160

static struct recent *list;

int
refused_create(struct errmsg *err)
{
    list = recent_create("weir refusals", KEPT, err);
    return list != NULL ? 0 : -1;
}

void
refused_destroy(void)
{
    recent_destroy(&list);
}

struct recent *
refused_list(void)
{
    return list;
}

/* The bytes around the offset, masked as a whole before they are cut. */
static void
show_bytes(const struct refused *r, char *dst, size_t size)
{
    char copy[LOOKED];
    size_t from = r->offset > LOOKED ? r->offset - LOOKED / 2 : 0;
    struct str bytes = str_first(str_skip(r->bytes, from), LOOKED);
    size_t at = r->offset - from;
    size_t begin = at > BEFORE ? at - BEFORE : 0;

    memcpy(copy, bytes.ptr, bytes.len);
    if (from > 0) { /* what stands in front may be the name of a secret */
        size_t line = str_find(bytes, '\n', 0);

        memset(copy, '*', line);
    }
    mask_secrets(copy, bytes.len);
    str_escape(dst, size,
               str_first(str_skip(str_of(copy, bytes.len), begin), SHOWN));
}

void
refused_note(const struct refused *r)
{
    char text[RECENT_TEXT];
    char reason[REASON_MAX], bytes[4 * SHOWN + 1];
    int len;

    if (list == NULL) {
        return;
    }
    str_escape(reason, sizeof(reason), str_from(r->reason));
    show_bytes(r, bytes, sizeof(bytes));
    len = snprintf(text, sizeof(text), "%.32s\n%.64s\n%llu\n%s\n%s", r->proto,
                   r->peer, (unsigned long long)(r->before + r->offset), reason,
                   bytes);
    if (len > 0) {
        recent_put(list, 0,
                   str_first(str_of(text, (size_t)len), sizeof(text) - 1));
    }
}

bool
refused_parse(const struct recent_record *r, struct refused_view *v)
{
    struct str rest = str_of(r->text, r->len);
    int64_t offset = 0;

    v->proto = str_cut(&rest, '\n');
    v->peer = str_cut(&rest, '\n');
    if (!str_to_int(str_cut(&rest, '\n'), 0, INT64_MAX, &offset)) {
        return false;
    }
    v->offset = (uint64_t)offset;
    v->reason = str_cut(&rest, '\n');
    v->bytes = rest;
    return true;
}
