/*
 * Writing metrics as text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/metric_text.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define LABELS_SIZE 1024

struct metric_out {
    struct buf *buf; /* borrowed */
    enum metric_format format;
    bool failed;
};

const char *
metric_content_type(enum metric_format format)
{
    return format == METRIC_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

void
metric_escape(char *dst, size_t size, struct str value)
{
    size_t at = 0;

    while (value.len > 0 && at + 5 < size) {
        size_t n = utf8_char(value);
        char c = value.ptr[0];

        if (c == '\n' || c == '"' || c == '\\') {
            dst[at++] = '\\';
            dst[at++] = c == '\n' ? 'n' : c;
        } else if (n > 0) {
            memcpy(dst + at, value.ptr, n);
            at += n;
        } else {
            dst[at++] = '?'; /* no text */
        }
        value = str_skip(value, n > 0 ? n : 1);
    }
    dst[at] = '\0';
}

/* A number of m's unit, as short as it is exact. */
static void
write_number(char *dst, size_t size, int64_t value, int64_t unit)
{
    uint64_t whole = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t one = unit > 1 ? (uint64_t)unit : 1;
    char part[32] = "";
    int digits = 0;

    for (uint64_t u = one; u > 1; u /= 10) {
        digits++;
    }
    if (digits > 0 && whole % one != 0) {
        int n = snprintf(part, sizeof(part), ".%0*llu", digits,
                         (unsigned long long)(whole % one));

        while (n > 0 && part[n - 1] == '0') {
            part[--n] = '\0';
        }
    }
    snprintf(dst, size, "%s%llu%s", value < 0 ? "-" : "",
             (unsigned long long)(whole / one), part);
}

static void
add(struct metric_out *o, const char *text)
{
    o->failed |= buf_add_str(o->buf, str_from(text)) != 0;
}

static void
write_sample(struct metric_out *o, const struct metric *m, const char *suffix,
             const char *labels, const char *value)
{
    add(o, m->name);
    add(o, suffix);
    if (labels[0] != '\0') {
        add(o, "{");
        add(o, labels);
        add(o, "}");
    }
    add(o, " ");
    add(o, value);
    add(o, "\n");
}

void
metric_tell(struct metric_out *o, const struct metric *m, const char *labels,
            int64_t value)
{
    char number[48];

    write_number(number, sizeof(number), value, m->unit);
    write_sample(o, m, "", labels, number);
}

/* ---- one value and its labels ---- */

/* Adds a label to the text; false when it has no such value. */
static bool
add_label(char *labels, const struct metric_label *l, unsigned i)
{
    size_t at = strlen(labels);
    char value[METRIC_NAME_MAX * 2];
    const char *text;

    if (l->count == 0) {
        return true;
    }
    text = l->value(i);
    if (text == NULL) {
        return false;
    }
    if (l->name == NULL) {
        snprintf(labels + at, LABELS_SIZE - at, "%s%s", at > 0 ? "," : "",
                 text);
        return true;
    }
    metric_escape(value, sizeof(value), str_from(text));
    snprintf(labels + at, LABELS_SIZE - at, "%s%s=\"%s\"", at > 0 ? "," : "",
             l->name, value);
    return true;
}

/* Whether this is "other" or "none", which is shown once it has counted one. */
static bool
is_rest(const char *labels)
{
    return strstr(labels, "=\"other\"") != NULL ||
           strstr(labels, "=\"none\"") != NULL;
}

static void
write_bucket(struct metric_out *o, const struct metric *m, const char *labels,
             const char *bound, int64_t count)
{
    char text[LABELS_SIZE + 64], number[48];

    snprintf(text, sizeof(text), "%s%sle=\"%s\"", labels,
             labels[0] != '\0' ? "," : "", bound);
    write_number(number, sizeof(number), count, 1);
    write_sample(o, m, "_bucket", text, number);
}

static void
write_histogram(struct metric_out *o, const struct metric *m,
                const char *labels, uint32_t at)
{
    uint64_t count = 0;
    char number[64];

    for (unsigned i = 0; i < m->bound_count; i++) {
        count += (uint64_t)metric_sum(m, at + i);
        write_number(number, sizeof(number) - 2, m->bounds[i], m->unit);
        if (o->format == METRIC_OPENMETRICS && strchr(number, '.') == NULL) {
            strncat(number, ".0", 3);
        }
        write_bucket(o, m, labels, number, (int64_t)count);
    }
    count += (uint64_t)metric_sum(m, at + m->bound_count);
    write_bucket(o, m, labels, "+Inf", (int64_t)count);
    write_number(number, sizeof(number), metric_sum(m, at + m->bound_count + 1),
                 m->unit);
    write_sample(o, m, "_sum", labels, number);
    write_number(number, sizeof(number), (int64_t)count, 1);
    write_sample(o, m, "_count", labels, number);
}

static bool
is_zero(const struct metric *m, uint32_t at)
{
    uint32_t n = m->type == METRIC_HISTOGRAM ? m->bound_count + 1 : 1;

    for (uint32_t i = 0; i < n; i++) {
        if (metric_sum(m, at + i) != 0) {
            return false;
        }
    }
    return true;
}

static void
write_value(struct metric_out *o, const struct metric *m, const unsigned *i)
{
    uint32_t at = metric_at(m, i[0], i[1], i[2]);
    char labels[LABELS_SIZE] = "";

    if (m->sparse && is_zero(m, at)) {
        return;
    }
    for (int k = 0; k < METRIC_LABELS; k++) {
        if (!add_label(labels, &m->labels[k], i[k])) {
            return;
        }
    }
    if (is_rest(labels) && is_zero(m, at)) {
        return;
    }
    if (m->type == METRIC_HISTOGRAM) {
        write_histogram(o, m, labels, at);
    } else {
        metric_tell(o, m, labels, metric_sum(m, at));
    }
}

static void
write_values(struct metric_out *o, const struct metric *m)
{
    unsigned n[METRIC_LABELS], i[METRIC_LABELS];

    for (int k = 0; k < METRIC_LABELS; k++) {
        n[k] = m->labels[k].count > 0 ? m->labels[k].count : 1;
    }
    for (i[0] = 0; i[0] < n[0]; i[0]++) {
        for (i[1] = 0; i[1] < n[1]; i[1]++) {
            for (i[2] = 0; i[2] < n[2]; i[2]++) {
                write_value(o, m, i);
            }
        }
    }
}

/* ---- all ---- */

static void
write_head(struct metric_out *o, const struct metric *m)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    struct str family = str_from(m->name);

    /* OpenMetrics: the family of a counter is named without "_total". */
    if (o->format == METRIC_OPENMETRICS && m->type == METRIC_COUNTER &&
        str_ends(family, STR("_total"))) {
        family.len -= sizeof("_total") - 1;
    }
    o->failed |=
        buf_printf(o->buf, "# HELP %.*s %s\n# TYPE %.*s %s\n", STR_ARGS(family),
                   m->help, STR_ARGS(family), types[m->type]) != 0;
}

int
metric_text(struct buf *out, enum metric_format format)
{
    struct metric_out o = { .buf = out, .format = format };
    const struct metric *m;

    for (unsigned i = 0; (m = metric_table(i)) != NULL; i++) {
        for (; m->name != NULL; m++) {
            write_head(&o, m);
            if (m->collect != NULL) {
                m->collect(m, &o);
            } else {
                write_values(&o, m);
            }
        }
    }
    if (format == METRIC_OPENMETRICS) {
        add(&o, "# EOF\n");
    }
    return o.failed ? -1 : 0;
}
