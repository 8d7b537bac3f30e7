/*
 * Voices and variants: gathered, sorted, found.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "catalogue_impl.h"

#include <glob.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/utf8.h"
#include "request.h"

/* ---- names ---- */

bool
catalogue_takes_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        if (c < 0x20 || c == 0x7f || c == '+' || c == '/') {
            return false;
        }
    }
    return name.len > 0 && name.len <= SPEECH_FILE_MAX && name.ptr[0] != '.' &&
           utf8_valid(name);
}

static char
plain(char c)
{
    if (c == '_' || c == ' ') {
        return '-';
    }
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool
catalogue_is_like(struct str a, struct str b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (plain(a.ptr[i]) != plain(b.ptr[i])) {
            return false;
        }
    }
    return true;
}

/* "en-US" of "gmw/en-US". */
static struct str
last_part(struct str file)
{
    for (size_t i = file.len; i > 0; i--) {
        if (file.ptr[i - 1] == '/') {
            return str_skip(file, i);
        }
    }
    return file;
}

/* ---- gathering ---- */

static const struct catalogue_entry *
entry_of(const struct catalogue *c, struct str name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (str_eq(c->entries[i].voice.name, name)) {
            return &c->entries[i];
        }
    }
    return NULL;
}

static const struct voice_language *
best_of(const struct catalogue_entry *e)
{
    const struct voice_language *best = &e->languages[0];

    for (size_t i = 1; i < e->language_count; i++) {
        if (e->languages[i].priority < best->priority) {
            best = &e->languages[i];
        }
    }
    return best;
}

static const struct voice_language *
keep_languages(struct pool *pool, const struct voice_facts *facts)
{
    struct voice_language *kept =
        pool_alloc(pool, facts->language_count * sizeof(*kept));

    for (size_t i = 0; i < facts->language_count; i++) {
        kept[i].tag = pool_str(pool, facts->languages[i].tag);
        kept[i].priority = facts->languages[i].priority;
    }
    return kept;
}

void
catalogue_add_voice(struct catalogue *c, struct str file, struct str text)
{
    struct str name = last_part(file);
    struct voice_facts facts;

    if (!catalogue_takes_name(name) || file.len > SPEECH_FILE_MAX ||
        entry_of(c, name) != NULL) {
        return;
    }
    voice_file_read(text, &facts);
    if (facts.language_count == 0 || facts.mbrola) {
        return;
    }
    if (c->count == CATALOGUE_VOICES) {
        c->is_full = true;
        return;
    }
    struct catalogue_entry *e = &c->entries[c->count++];

    e->voice.file = pool_str(c->pool, file);
    e->voice.name = last_part(e->voice.file);
    e->voice.display = facts.display.len > 0 ? pool_str(c->pool, facts.display)
                                             : e->voice.name;
    e->languages = keep_languages(c->pool, &facts);
    e->language_count = facts.language_count;
    e->voice.language = best_of(e)->tag;
}

void
catalogue_add_variant(struct catalogue *c, struct str name, struct str text)
{
    struct voice_facts facts;

    if (!catalogue_takes_name(name)) {
        return;
    }
    for (size_t i = 0; i < c->variant_count; i++) {
        if (str_eq(c->variants[i].name, name)) {
            return;
        }
    }
    if (c->variant_count == CATALOGUE_VARIANTS) {
        c->is_full = true;
        return;
    }
    voice_file_read(text, &facts);
    c->variants[c->variant_count++] =
        (struct catalogue_variant){ pool_str(c->pool, name),
                                    pool_str(c->pool, facts.display) };
}

static int
compare_entries(const void *a, const void *b)
{
    const struct catalogue_entry *one = a, *other = b;

    return str_compare(one->voice.name, other->voice.name);
}

static int
compare_variants(const void *a, const void *b)
{
    const struct catalogue_variant *one = a, *other = b;

    return str_compare(one->name, other->name);
}

struct catalogue *
catalogue_new(void)
{
    struct pool *pool = pool_new(65536);
    struct catalogue *c = pool_zero(pool, sizeof(*c));

    c->pool = pool;
    c->entries = pool_zero(pool, CATALOGUE_VOICES * sizeof(*c->entries));
    c->variants = pool_zero(pool, CATALOGUE_VARIANTS * sizeof(*c->variants));
    return c;
}

void
catalogue_sort(struct catalogue *c)
{
    qsort(c->entries, c->count, sizeof(*c->entries), compare_entries);
    qsort(c->variants, c->variant_count, sizeof(*c->variants),
          compare_variants);
}

static int
add_all(struct catalogue *c, const struct str *directories, size_t count,
        struct errmsg *err)
{
    struct str last = str_from(catalogue_system_directory());

    for (size_t i = 0; i < count; i++) {
        if (catalogue_add_directory(c, directories[i], err) == -1) {
            return -1;
        }
    }
    if (last.len > 0 && catalogue_add_directory(c, last, err) == -1) {
        return -1;
    }
    if (c->count == 0) {
        return errmsg_set(err, "no directory of data has a voice: is the "
                               "package espeak-ng-data missing?");
    }
    if (!c->has_phontab) {
        return errmsg_set(err, "no directory of data has phontab: espeak-ng's "
                               "own data are needed, too");
    }
    return 0;
}

struct catalogue *
catalogue_read(const struct str *directories, size_t count, struct errmsg *err)
{
    struct catalogue *c = catalogue_new();

    if (add_all(c, directories, count, err) == -1) {
        catalogue_free(&c);
        return NULL;
    }
    if (c->is_full) {
        log_write(LOG_WARN,
                  "there are more voices than %d or more variants than %d: the "
                  "others are left out",
                  CATALOGUE_VOICES, CATALOGUE_VARIANTS);
    }
    catalogue_sort(c);
    return c;
}

void
catalogue_free(struct catalogue **c)
{
    if (*c != NULL) {
        struct pool *pool = (*c)->pool;

        *c = NULL;
        pool_free(&pool);
    }
}

/* Its package puts the data where libraries are, or where shared data are. */
const char *
catalogue_system_directory(void)
{
    static const char *const patterns[] = {
        "/usr/lib/*/espeak-ng-data/phontab",
        "/usr/lib/espeak-ng-data/phontab",
        "/usr/share/espeak-ng-data/phontab",
    };
    static char found[256];

    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        glob_t all = { .gl_pathc = 0 };

        if (found[0] == '\0' && glob(patterns[i], 0, NULL, &all) == 0 &&
            all.gl_pathc > 0) {
            struct str path = str_from(all.gl_pathv[0]);

            path.len -= sizeof("/phontab") - 1;
            str_copy(found, sizeof(found), path);
        }
        globfree(&all);
    }
    return found;
}

/* ---- finding ---- */

static bool
has_name(const struct catalogue_voice *v, struct str asked, int step)
{
    switch (step) {
    case 0:
        return str_eq(v->name, asked);
    case 1:
        return catalogue_is_like(v->name, asked);
    case 2:
        return catalogue_is_like(v->file, asked);
    default:
        return catalogue_is_like(v->display, asked);
    }
}

const struct catalogue_voice *
catalogue_find(const struct catalogue *c, struct str asked)
{
    for (int step = 0; step < 4; step++) {
        for (size_t i = 0; i < c->count; i++) {
            if (has_name(&c->entries[i].voice, asked, step)) {
                return &c->entries[i].voice;
            }
        }
    }
    return catalogue_find_tag(c, asked);
}

struct str
catalogue_variant(const struct catalogue *c, struct str asked)
{
    for (int step = 0; step < 3 && asked.len > 0; step++) {
        for (size_t i = 0; i < c->variant_count; i++) {
            const struct catalogue_variant *v = &c->variants[i];

            if (step == 0   ? str_eq(v->name, asked)
                : step == 1 ? str_eq_nocase(v->name, asked)
                            : str_eq_nocase(v->display, asked)) {
                return v->name;
            }
        }
    }
    return STR_NONE;
}

struct str
catalogue_variant_at(const struct catalogue *c, int64_t index)
{
    if (index < 0 || (uint64_t)index > c->variant_count) {
        return (struct str){ NULL, 0 };
    }
    return index == 0 ? STR_NONE : c->variants[index - 1].name;
}

size_t
catalogue_variants(const struct catalogue *c)
{
    return c->variant_count;
}

size_t
catalogue_voices(const struct catalogue *c)
{
    return c->count;
}

const struct catalogue_voice *
catalogue_voice_at(const struct catalogue *c, size_t i)
{
    return i < c->count ? &c->entries[i].voice : NULL;
}
