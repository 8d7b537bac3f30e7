/*
 * Where live streams are cut in segments and parts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include <stdio.h>
#include <string.h>

#include "app/module.h"
#include "base/log.h"
#include "live/cuts.h"

/* A stream of which that is not kept cannot be offered. */
#define LEAST_RATE 100000 /* bit/s */
/* Of a stream as most people send it: the operator is told what fits when this
 * does not. */
#define USUAL_RATE 3000000 /* bit/s */
/* Cuts of a stream that readers may count on; the others are room for those of
 * other lengths. */
#define CUTS_MOST (LIVE_CUT_RING - 16)

/* ---- the ladder ---- */

static bool
ends_with(struct str text, struct str end)
{
    return text.len >= end.len &&
           str_eq(str_skip(text, text.len - end.len), end);
}

static int
check_suffix(const struct conf_strings *all, size_t i, struct errmsg *err)
{
    struct str suffix = all->items[i];

    if (suffix.len == 0 || suffix.len >= LIVE_SUFFIX_MAX ||
        memchr(suffix.ptr, '/', suffix.len) != NULL) {
        return errmsg_set(err,
                          "ladder: \"%.*s\" must have 1 to %u bytes and no "
                          "slash",
                          STR_ARGS(suffix), LIVE_SUFFIX_MAX - 1);
    }
    for (size_t k = 0; k < all->count; k++) {
        if (k != i && all->items[k].len > 0 &&
            ends_with(suffix, all->items[k])) {
            return errmsg_set(err,
                              "ladder: \"%.*s\" ends with \"%.*s\", so names "
                              "could be of both",
                              STR_ARGS(suffix), STR_ARGS(all->items[k]));
        }
    }
    return 0;
}

static int
check_ladder(const struct conf_strings *all, struct errmsg *err)
{
    if (all->count > LIVE_LADDER_MAX) {
        return errmsg_set(err, "ladder: there are %zu suffixes, %u are allowed",
                          all->count, LIVE_LADDER_MAX);
    }
    for (size_t i = 0; i < all->count; i++) {
        if (check_suffix(all, i, err) == -1) {
            return -1;
        }
    }
    return 0;
}

static struct live_ladder
ladder_of(const struct conf_strings *all)
{
    struct live_ladder l = { .count = (uint32_t)all->count };

    for (size_t i = 0; i < all->count; i++) {
        str_copy(l.suffixes[i], sizeof(l.suffixes[i]), all->items[i]);
    }
    return l;
}

/* ---- lengths ---- */

int
settings_check_cut_rows(const void *application, struct errmsg *err)
{
    const struct rtmp_application_settings *a = application;

    if (a->max_segment < a->segment) {
        return errmsg_set(err,
                          "max_segment (%lld ms) must not be less than segment "
                          "(%lld ms)",
                          (long long)a->max_segment, (long long)a->segment);
    }
    if (a->part > a->segment) {
        return errmsg_set(err,
                          "part (%lld ms) must not be more than segment "
                          "(%lld ms)",
                          (long long)a->part, (long long)a->segment);
    }
    if (LIVE_CUT_TARGETS * a->max_segment / a->part > CUTS_MOST) {
        return errmsg_set(
            err,
            "part (%lld ms) must be at least %lld ms with "
            "max_segment = %lld ms: %d segments must not have "
            "more than %u parts",
            (long long)a->part,
            (long long)(LIVE_CUT_TARGETS * a->max_segment / CUTS_MOST + 1),
            (long long)a->max_segment, LIVE_CUT_TARGETS, CUTS_MOST);
    }
    return check_ladder(&a->ladder, err);
}

/* ---- who wants them ---- */

static void
look_at_layer(void *arg, const struct conf_extra *l)
{
    const struct module *m = l->what;
    bool *wanted = arg;

    *wanted = *wanted || (m != NULL && m->cuts);
}

static bool
are_wanted(const struct settings *s)
{
    bool wanted = false;

    settings_each_layer(s, look_at_layer, &wanted);
    return wanted;
}

struct live_cut_rules
settings_cuts(const struct settings *s,
              const struct rtmp_application_settings *a)
{
    if (!are_wanted(s)) {
        return (struct live_cut_rules){ .segment = 0 };
    }
    return (struct live_cut_rules){ .segment = (uint32_t)a->segment,
                                    .max_segment = (uint32_t)a->max_segment,
                                    .part = (uint32_t)a->part,
                                    .strict_keys = a->strict_keys,
                                    .ladder = ladder_of(&a->ladder) };
}

/* ---- memory ---- */

/* The bit rate at which max_stream_memory holds all targets of that length. */
static long long
rate_of(const struct settings *s, int64_t target)
{
    return (long long)(s->live.max_stream_memory * 8 * 1000 /
                       (LIVE_CUT_TARGETS * target));
}

static void
each_application(const struct settings *s,
                 void (*each)(const struct settings *s,
                              const struct rtmp_application_settings *a,
                              FILE *out),
                 FILE *out)
{
    for (size_t i = 0; are_wanted(s) && i < s->rtmp.servers.count; i++) {
        const struct conf_groups *all =
            &settings_rtmp_server(&s->rtmp, i)->applications;
        const struct rtmp_application_settings *a = all->items;

        for (size_t k = 0; k < all->count; k++) {
            each(s, &a[k], out);
        }
    }
}

static void
check_memory(const struct settings *s,
             const struct rtmp_application_settings *a, FILE *out)
{
    if (rate_of(s, a->max_segment) < LEAST_RATE) {
        fprintf(out,
                "%s:%d: live.max_stream_memory (%lld bytes) cannot keep %d "
                "segments of max_segment (%lld ms), not even at %d kbit/s\n",
                a->where.file, a->where.line,
                (long long)s->live.max_stream_memory, LIVE_CUT_TARGETS,
                (long long)a->max_segment, LEAST_RATE / 1000);
    }
}

void
settings_check_cuts(const struct settings *s, FILE *out)
{
    each_application(s, check_memory, out);
}

static void
tell_memory(const struct settings *s, const struct rtmp_application_settings *a,
            FILE *out)
{
    long long rate = rate_of(s, a->max_segment);

    (void)out;
    if (rate < USUAL_RATE) {
        log_write(LOG_WARN,
                  "application %.*s: live.max_stream_memory keeps all segments "
                  "of max_segment (%lld ms) of streams up to %lld kbit/s; "
                  "lists of faster ones are shorter",
                  STR_ARGS(a->name), (long long)a->max_segment, rate / 1000);
    }
}

void
settings_warn_cuts(const struct settings *s)
{
    each_application(s, tell_memory, NULL);
}
