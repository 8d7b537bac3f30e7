/*
 * Compiling patterns and matching within limits.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/regex.h"

#include <assert.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define DEPTH 5000    /* choices that may be gone back to */
#define HEAP_KIB 4096 /* memory for them */
#define STEPS_MIN 64  /* from each place where a match may begin */
#define NUMBER_SIZE 2 /* bytes of a group's number in front of its name */

/* All of it is freed with the pool. */
struct regex {
    pcre2_code *code;
    pcre2_match_context *limits;
    size_t groups;
    bool anchored; /* a match begins at one place only */
    struct str names[REGEX_GROUPS_MAX];
};

/* Of the match under way: its memory, which grows to HEAP_KIB, is kept for the
 * next one, whichever pattern that has. */
static pcre2_match_data *data;

/* ---- compiling ---- */

static void
clear(void *arg)
{
    struct regex *r = arg;

    pcre2_match_context_free(r->limits);
    pcre2_code_free(r->code);
}

static pcre2_code *
compile(struct str pattern, enum regex_case letters, struct errmsg *err)
{
    uint32_t options = PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF |
                       PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C |
                       (letters == REGEX_NOCASE ? PCRE2_CASELESS : 0);
    PCRE2_SIZE at = 0;
    int why = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len,
                                     options, &why, &at, NULL);

    if (code == NULL) {
        char text[200];

        pcre2_get_error_message(why, (PCRE2_UCHAR *)text, sizeof(text));
        errmsg_set(err, "pattern \"%.*s\": %s, at byte %zu", STR_ARGS(pattern),
                   text, (size_t)at);
    }
    return code;
}

static void
read_names(struct pool *pool, struct regex *r)
{
    uint32_t count = 0, size = 0;
    PCRE2_SPTR at = NULL;

    pcre2_pattern_info(r->code, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(r->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(r->code, PCRE2_INFO_NAMETABLE, &at);
    for (uint32_t i = 0; i < count; i++, at += size) {
        size_t number = (size_t)at[0] << 8 | at[1];

        r->names[number] =
            pool_str(pool, str_from((const char *)at + NUMBER_SIZE));
    }
}

static bool
is_anchored(const struct regex *r)
{
    uint32_t options = 0, first = 0;

    pcre2_pattern_info(r->code, PCRE2_INFO_ALLOPTIONS, &options);
    pcre2_pattern_info(r->code, PCRE2_INFO_FIRSTCODETYPE, &first);
    /* 2: behind newlines, too, which no path and no name has. */
    return (options & PCRE2_ANCHORED) != 0 || first == 2;
}

static int
count_groups(struct regex *r, struct str pattern, struct errmsg *err)
{
    uint32_t groups = 0;

    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups >= REGEX_GROUPS_MAX) {
        return errmsg_set(err, "pattern \"%.*s\": has more than %d groups",
                          STR_ARGS(pattern), REGEX_GROUPS_MAX - 1);
    }
    r->groups = groups + 1;
    return 0;
}

struct regex *
regex_new(struct pool *pool, struct str pattern, enum regex_case letters,
          struct errmsg *err)
{
    struct regex *r = pool_zero(pool, sizeof(*r));

    if (pattern.len == 0 || pattern.len > REGEX_PATTERN_MAX) {
        errmsg_set(err, "a pattern has 1 to %d bytes", REGEX_PATTERN_MAX);
        return NULL;
    }
    pool_on_free(pool, clear, r);
    r->code = compile(pattern, letters, err);
    if (r->code == NULL || count_groups(r, pattern, err) == -1) {
        return NULL;
    }
    read_names(pool, r);
    r->anchored = is_anchored(r);
    r->limits = pcre2_match_context_create(NULL);
    if (data == NULL) {
        data = pcre2_match_data_create(REGEX_GROUPS_MAX, NULL);
    }
    if (data == NULL || r->limits == NULL) {
        errmsg_set(err, "out of memory");
        return NULL;
    }
    pcre2_set_depth_limit(r->limits, DEPTH);
    pcre2_set_heap_limit(r->limits, HEAP_KIB);
    return r;
}

/* ---- matching ---- */

/* PCRE2 counts anew at each place where it begins. */
static uint32_t
steps_of(const struct regex *r, struct str text)
{
    size_t each = REGEX_STEPS_ALL / (r->anchored ? 1 : text.len + 1);

    if (each > REGEX_STEPS) {
        return REGEX_STEPS;
    }
    return each < STEPS_MIN ? STEPS_MIN : (uint32_t)each;
}

static void
take_groups(const struct regex *r, struct str text, struct regex_match *m)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);

    m->count = r->groups;
    for (size_t i = 0; i < r->groups; i++) {
        PCRE2_SIZE from = ends[2 * i], to = ends[2 * i + 1];

        /* "\K" in a lookahead may set the begin behind the end. */
        m->groups[i] = from == PCRE2_UNSET || from > to
                           ? STR_NONE
                           : str_of(text.ptr + from, to - from);
    }
}

enum regex_result
regex_match(struct regex *r, struct str text, struct regex_match *m)
{
    int n;

    pcre2_set_match_limit(r->limits, steps_of(r, text));
    n = pcre2_match(r->code, (PCRE2_SPTR)text.ptr, text.len, 0, 0, data,
                    r->limits);
    if (n == PCRE2_ERROR_NOMATCH) {
        return REGEX_NO;
    }
    if (n < 0) {
        return REGEX_LIMIT;
    }
    assert(n > 0); /* 0: there was no room for all groups */
    if (m != NULL) {
        take_groups(r, text, m);
    }
    return REGEX_YES;
}

/* ---- groups ---- */

int
regex_group(const struct regex *r, struct str name)
{
    int64_t number;

    if (str_to_int(name, 0, (int64_t)r->groups - 1, &number)) {
        return (int)number;
    }
    for (size_t i = 1; i < r->groups; i++) {
        if (name.len > 0 && str_eq(r->names[i], name)) {
            return (int)i;
        }
    }
    return -1;
}

struct str
regex_group_name(const struct regex *r, size_t i)
{
    return i < r->groups && r->names[i].ptr != NULL ? r->names[i] : STR_NONE;
}

size_t
regex_groups(const struct regex *r)
{
    return r->groups;
}
