/*
 * Whether the voices that weir.conf names are there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tts.h"

#include <string.h>

#include "base/mem.h"
#include "catalogue.h"

/* "; near are ..." */
static int
refuse(const char *what, struct str name, const struct buf *near,
       struct errmsg *err)
{
    char shown[128];

    str_escape(shown, sizeof(shown), name);
    if (buf_len(near) == 0) {
        return errmsg_set(err,
                          "there is no %s \"%s\", nor one with a name like it",
                          what, shown);
    }
    return errmsg_set(err, "there is no %s \"%s\"; near are %.*s", what, shown,
                      STR_ARGS(buf_str(near)));
}

static int
refuse_voice(const struct catalogue *c, struct str name, struct errmsg *err)
{
    struct buf near;

    buf_init(&near, 256);
    catalogue_nearest(c, name, &near);
    refuse("voice", name, &near, err);
    buf_clear(&near);
    return -1;
}

static int
check_variant(const struct catalogue *c, struct str name, struct errmsg *err)
{
    struct buf near;

    if (name.len == 0 || catalogue_variant(c, name).len > 0) {
        return 0;
    }
    buf_init(&near, 256);
    catalogue_nearest_variant(c, name, &near);
    refuse("speaker", name, &near, err);
    buf_clear(&near);
    return -1;
}

int
tts_check_voice(const struct catalogue *c, struct str voice, struct str speaker,
                struct errmsg *err)
{
    struct str variant = voice;
    struct str name = str_cut(&variant, '+');

    if (catalogue_find(c, name) == NULL) {
        return refuse_voice(c, name, err);
    }
    if (check_variant(c, variant, err) == -1) {
        return -1;
    }
    return check_variant(c, speaker, err);
}

/* ---- a file ---- */

static void
say(const struct tts_instance *i, const char *key, const struct errmsg *err,
    FILE *out)
{
    fprintf(out, "%s:%d: tts.%s: %s\n", i->where.file, i->where.line, key,
            err->text);
}

static void
check_names(const struct tts_instance *i, const struct catalogue *c, FILE *out)
{
    const struct tts_voice_map *map = i->voice_map.items;
    struct errmsg err;

    if (tts_check_voice(c, i->voice, STR_NONE, &err) == -1) {
        say(i, "voice", &err, out);
    }
    if (check_variant(c, i->speaker, &err) == -1) {
        say(i, "speaker", &err, out);
    }
    for (size_t k = 0; k < i->voice_map.count; k++) {
        if (tts_check_voice(c, map[k].voice, STR_NONE, &err) == -1) {
            say(i, "voice_map", &err, out);
        }
    }
}

static void
check_all(const struct tts_root *root, FILE *out)
{
    const struct conf_groups *all = &root->instances;
    const struct tts_instance *items = all->items;
    struct errmsg err;

    for (size_t i = 0; i < all->count; i++) {
        struct catalogue *c = catalogue_read(items[i].data_dir.items,
                                             items[i].data_dir.count, &err);

        if (c == NULL) {
            say(&items[i], "data_dir", &err, out);
            continue;
        }
        check_names(&items[i], c, out);
        catalogue_free(&c);
    }
}

void
tts_check_there(const struct settings *s, FILE *out)
{
    if (tts_wanted(s)) {
        check_all(tts_root_of(s), out);
    }
}

/* The first mistake is enough to be told. */
int
tts_check_voices(const struct tts_root *root, struct errmsg *err)
{
    size_t len = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL) {
        return errmsg_sys(err, "cannot look for voices");
    }
    check_all(root, out);
    fclose(out);
    if (len > 0) {
        errmsg_set(err, "%.*s", (int)strcspn(text, "\n"), text);
    }
    mem_free(&text);
    return len > 0 ? -1 : 0;
}
