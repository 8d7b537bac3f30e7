/*
 * A made-up configuration with a row of every type, for the tests and the
 * fuzz target of conf/.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_CONF_SAMPLE_H
#define TESTS_CONF_SAMPLE_H

#include "conf/conf.h"

#include <stdbool.h>
#include <stddef.h>

struct sample_echo {
    struct str text;
    int64_t times;
};

struct sample_layer {
    struct conf_where where;
    struct conf_extra module;
};

struct sample_unit {
    struct conf_where where;
    struct str name;
    int64_t weight;
    struct conf_strings tags;
    struct conf_groups units; /* the same again */
    struct conf_groups layers;
};

struct sample_live {
    struct conf_where where;
    int64_t memory, hold, gather, streams;
    bool cache;
    int mode;
};

struct sample_store {
    int backend;
    struct conf_extra extra;
};

struct sample_sqlite {
    struct str path;
};

/* Added by part 1 at the root. */
struct sample_voice {
    struct str name;
    int64_t speed;
    int64_t pitch;
};

struct sample_speaker {
    struct conf_instance voice, other;
};

struct sample_added {
    struct conf_groups voices, speakers;
    int64_t volume;
};

struct sample {
    int64_t workers, port;
    struct str pid, user, token;
    struct conf_strings access, secrets;
    struct sample_live live;
    struct conf_groups units;
    struct sample_store store;
    struct str format;
    struct conf_parts parts;
};

/* The type comes first in the rest. */
#define ROW(tag, field, ...)                                           \
    {                                                                  \
        .name = #field, .offset = offsetof(struct sample##tag, field), \
        .type = __VA_ARGS__                                            \
    }

static const char *const auto_word[] = { "auto", NULL };
static const char *const gather_words[] = { "auto", "inherit", NULL };
static const char *const modes[] = { "replace", "refuse", NULL };
static const char *const backends[] = { "sqlite", "none", NULL };

static const struct conf_key echo_keys[] = {
    ROW(_echo, text, CONF_STRING, .preset = "hi", .help = "What it says."),
    ROW(_echo, times, CONF_INT, .min = 1, .max = 9, .preset = "1",
        .change = CONF_RESTART, .help = "How often."),
    CONF_END,
};

static const struct conf_key sqlite_keys[] = {
    ROW(_sqlite, path, CONF_STRING, .preset = "run/db"),
    CONF_END,
};

static int
choose_module(struct str value, struct conf_choice *choice, struct errmsg *err)
{
    if (str_eq(value, STR("echo"))) {
        choice->what = echo_keys;
        choice->keys = echo_keys;
        choice->size = sizeof(struct sample_echo);
        return 0;
    }
    if (str_eq(value, STR("bare"))) {
        choice->what = modes;
        return 0;
    }
    return errmsg_set(err, "there is no module \"%.*s\"", STR_ARGS(value));
}

static int
choose_backend(struct str value, struct conf_choice *choice, struct errmsg *err)
{
    (void)err;
    if (str_eq(value, STR("sqlite"))) {
        choice->what = sqlite_keys;
        choice->keys = sqlite_keys;
        choice->size = sizeof(struct sample_sqlite);
    }
    return 0;
}

static int
check_rule(struct str value, struct errmsg *err)
{
    if (str_starts(value, STR("allow ")) || str_starts(value, STR("deny "))) {
        return 0;
    }
    return errmsg_set(err, "must start with allow or deny, not \"%.*s\"",
                      STR_ARGS(value));
}

/* "$$" is a dollar sign, and no variable is called env:X. */
static int
check_format(struct str value, struct errmsg *err)
{
    while (value.len > 0) {
        if (str_starts(value, STR("${env:")) ||
            str_starts(value, STR("${file:"))) {
            return errmsg_set(err, "has no such variable");
        }
        value = str_skip(value, str_starts(value, STR("$$")) ? 2 : 1);
    }
    return 0;
}

static int
check_live(const void *settings, struct errmsg *err)
{
    const struct sample_live *s = settings;

    return s->hold == 13000 ? errmsg_set(err, "13 s bring bad luck") : 0;
}

static const struct conf_key live_keys[] = {
    ROW(_live, where, CONF_WHERE),
    ROW(_live, memory, CONF_SIZE, .min = 4 << 20, .max = 1LL << 40,
        .preset = "512M", .change = CONF_RESTART, .help = "Memory."),
    ROW(_live, hold, CONF_TIME, .max = 86400000, .preset = "10s"),
    ROW(_live, gather, CONF_TIME, .max = 10000, .preset = "auto",
        .words = gather_words),
    ROW(_live, streams, CONF_INT, .min = 1, .max = 1LL << 40, .preset = "4096",
        .change = CONF_RESTART),
    ROW(_live, cache, CONF_BOOL, .preset = "true"),
    ROW(_live, mode, CONF_ENUM, .preset = "replace", .words = modes),
    CONF_END,
};

static const struct conf_key layer_keys[] = {
    ROW(_layer, where, CONF_WHERE),
    ROW(_layer, module, CONF_EXTRA, .choose = choose_module),
    CONF_END,
};

static const struct conf_key unit_keys[] = {
    ROW(_unit, where, CONF_WHERE),
    ROW(_unit, name, CONF_STRING, .min = 1, .max = 8, .help = "Its name."),
    ROW(_unit, weight, CONF_INT, .min = -(1LL << 40), .max = 1LL << 40,
        .preset = "1", .change = CONF_RESTART),
    ROW(_unit, tags, CONF_STRINGS, .max = 2, .preset = ""),
    ROW(_unit, units, CONF_GROUPS, .keys = unit_keys,
        .size = sizeof(struct sample_unit), .preset = "", .shorthand = "name"),
    ROW(_unit, layers, CONF_GROUPS, .keys = layer_keys,
        .size = sizeof(struct sample_layer), .preset = "",
        .shorthand = "module"),
    CONF_END,
};

static const struct conf_key store_keys[] = {
    ROW(_store, backend, CONF_ENUM, .preset = "sqlite", .words = backends),
    {
        .name = "backend",
        .type = CONF_EXTRA,
        .offset = offsetof(struct sample_store, extra),
        .choose = choose_backend,
    },
    CONF_END,
};

static const struct conf_key voice_keys[] = {
    ROW(_voice, name, CONF_STRING, .min = 1),
    ROW(_voice, speed, CONF_INT, .min = 1, .max = 9, .preset = "5"),
    ROW(_voice, pitch, CONF_DECIMAL, .min = 100000, .max = 10000000,
        .or_zero = true, .preset = "auto", .words = auto_word),
    CONF_END,
};

static const struct conf_key speaker_keys[] = {
    ROW(_speaker, voice, CONF_INSTANCE, .of = "voices"),
    ROW(_speaker, other, CONF_INSTANCE, .of = "voices", .preset = ""),
    CONF_END,
};

static const struct conf_key added_keys[] = {
    ROW(_added, voices, CONF_GROUPS, .keys = voice_keys,
        .size = sizeof(struct sample_voice), .preset = "", .named = true),
    ROW(_added, speakers, CONF_GROUPS, .keys = speaker_keys,
        .size = sizeof(struct sample_speaker), .preset = "",
        .shorthand = "voice"),
    ROW(_added, volume, CONF_SIZE, .preset = "1k", .change = CONF_RESTART),
    CONF_END,
};

static bool
sample_part(size_t i, struct conf_part *part)
{
    *part = (struct conf_part){ i == 1 ? added_keys : NULL,
                                sizeof(struct sample_added) };
    return i < 3;
}

static const struct conf_key sample_keys[] = {
    ROW(, workers, CONF_INT, .min = 1, .max = 64, .preset = "auto",
        .words = auto_word, .help = "Workers."),
    ROW(, port, CONF_INT, .min = 0, .max = 65535),
    ROW(, pid, CONF_STRING, .preset = "run/pid", .change = CONF_RESTART),
    ROW(, user, CONF_STRING, .min = 3, .max = 20, .preset = "",
        .check = check_rule),
    ROW(, token, CONF_STRING, .preset = "", .secret = true),
    ROW(, access, CONF_STRINGS, .min = 1, .preset = "deny x, allow all",
        .check = check_rule, .help = "Rules."),
    ROW(, secrets, CONF_STRINGS, .preset = "", .secret = true),
    ROW(, live, CONF_GROUP, .keys = live_keys,
        .size = sizeof(struct sample_live), .preset = "",
        .check_group = check_live),
    ROW(, units, CONF_GROUPS, .keys = unit_keys,
        .size = sizeof(struct sample_unit), .preset = "", .shorthand = "name"),
    ROW(, store, CONF_GROUP, .keys = store_keys,
        .size = sizeof(struct sample_store), .preset = ""),
    ROW(, format, CONF_STRING, .preset = "", .dollars = true,
        .check = check_format),
    ROW(, parts, CONF_PARTS, .part = sample_part),
    CONF_END,
};

#endif
