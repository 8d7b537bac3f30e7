/*
 * Any bytes as a configuration file.  What is refused must be refused with a
 * reason; what is taken must be printed so that it can be read again and
 * prints the same.
 *
 * The input is the file t.conf in a directory that has a.conf and b.conf
 * too, so that includes are tried, and files with values.
 *
 * covers: src/conf/conf.c src/conf/elsewhere.c src/conf/fill.c
 * covers: src/conf/instance.c src/conf/known.c src/conf/lex.c
 * covers: src/conf/origin.c src/conf/others.c src/conf/parse.c
 * covers: src/conf/reader.c
 * covers: src/conf/source.c src/conf/value.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../unit/conf/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fuzz.h"

/* ---- keys of an environment ---- */

#define VARIABLE "WEIR_PREFIX"

struct sample_place {
    struct str path;
    struct str prefix;
};

struct sample_all { /* the sample, and a list of places */
    struct sample sample;
    struct conf_groups places;
};

static struct str
prefix_of(const void *group)
{
    return ((const struct sample_place *)group)->prefix;
}

static int
check_slash(struct str value, struct errmsg *err)
{
    return str_starts(value, STR("/")) ? 0 : errmsg_set(err, "begins with /");
}

static int
check_among(const struct conf_groups *all, size_t i, struct errmsg *err)
{
    const struct sample_place *p = all->items;

    return i > 0 && (str_eq(p[i - 1].path, p[i].path) ||
                     str_eq(p[i - 1].prefix, p[i].path))
               ? errmsg_set(err, "is there already")
               : 0;
}

static const struct conf_key place_keys[] = {
    ROW(_place, path, CONF_STRING, .check = check_slash,
        .otherwise = prefix_of),
    ROW(_place, prefix, CONF_STRING, .preset = "", .variable = VARIABLE),
    CONF_END,
};

static const struct conf_key places_key =
    ROW(_all, places, CONF_GROUPS, .keys = place_keys,
        .size = sizeof(struct sample_place), .preset = "",
        .check_among = check_among);

#define SAMPLE_KEYS (sizeof(sample_keys) / sizeof(*sample_keys))
static struct conf_key all_keys[SAMPLE_KEYS + 1];

/* ---- files ---- */

static char directory[] = "/tmp/weir-conf-fuzz-XXXXXX";

/* One at a time. */
static const char *
path_of(const char *name)
{
    static char path[sizeof(directory) + 16];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void
write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(path_of(name), "w");

    require(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void
clean_up(void)
{
    unlink(path_of("t.conf"));
    unlink(path_of("a.conf"));
    unlink(path_of("b.conf"));
    unlink(path_of("v"));
    unlink(path_of("open"));
    rmdir(directory);
}

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
set_up(void)
{
    static const char a[] = "\"allow a\",\n@include \"b.conf\"";
    static const char b[] = "/* b */ \"deny b\"";

    all_keys[0] = places_key;
    memcpy(all_keys + 1, sample_keys, sizeof(sample_keys));
    log_set_sink(drop_line, NULL);
    require(mkdtemp(directory) != NULL);
    clearenv();
    setenv("WEIR_A", "one", 1);
    write_file("a.conf", a, sizeof(a) - 1);
    write_file("b.conf", b, sizeof(b) - 1);
    write_file("v", "value ${env:WEIR_A}\n", 20);
    require(chmod(path_of("v"), 0640) == 0);
    write_file("open", "to all", 6);
    require(chmod(path_of("open"), 0644) == 0);
    atexit(clean_up);
}

/* Other files of this machine are not to be read. */
static bool
leads_out(const uint8_t *data, size_t size)
{
    static const char *const readers[] = { "@include", "${file:" };

    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        const uint8_t *at = data, *end = data + size;
        size_t len = strlen(readers[i]);

        while ((at = memmem(at, (size_t)(end - at), readers[i], len)) != NULL) {
            const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
            size_t rest = (size_t)((line != NULL ? line : end) - at);

            if (memchr(at, '/', rest) != NULL ||
                memchr(at, '\\', rest) != NULL) {
                return true;
            }
            at += len;
        }
    }
    return false;
}

static struct conf *
load(const void *data, size_t size, char **mistakes)
{
    write_file("t.conf", data, size);
    return conf_load(path_of("t.conf"), all_keys, sizeof(struct sample_all),
                     mistakes);
}

static char *
print(void (*how)(const struct conf *c, FILE *out), const struct conf *c,
      size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);

    require(f != NULL);
    how(c, f);
    require(fclose(f) == 0);
    return text;
}

/* Takes off where values came from, which is not said of what was printed. */
static size_t
cut_origins(char *text, size_t len)
{
    static const char mark[] = " # from ";
    size_t to = 0;

    for (size_t at = 0; at < len; at++) {
        if (len - at > sizeof(mark) &&
            memcmp(text + at, mark, sizeof(mark) - 1) == 0) {
            at = (size_t)((char *)memchr(text + at, '\n', len - at) - text);
        }
        text[to++] = text[at];
    }
    return to;
}

/* Each mistake is a line that begins with a file and a line of it. */
static void
check_mistakes(const char *text)
{
    require(text != NULL && text[0] != '\0');
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        const char *colon = strchr(text, ':');

        require(end != NULL && colon != NULL && colon < end);
        require(colon[1] >= '1' && colon[1] <= '9');
        text = end + 1;
    }
}

/* What was printed by either means the same. */
static void
check_again(const struct conf *first,
            void (*how)(const struct conf *c, FILE *out))
{
    char *mistakes, *a, *b, *differences;
    size_t a_len, b_len;
    struct conf *second;

    a = print(how, first, &a_len);
    second = load(a, a_len, &mistakes);
    if (second == NULL) {
        fprintf(stderr, "%s%s", a, mistakes);
        abort();
    }
    mem_free(&a);
    a = print(conf_print, first, &a_len);
    b = print(conf_print, second, &b_len);
    a_len = cut_origins(a, a_len);
    b_len = cut_origins(b, b_len);
    require(a_len == b_len && memcmp(a, b, a_len) == 0);
    require(conf_same_start(first, second, &differences) == 0);
    conf_free(&second);
    mem_free(&a);
    mem_free(&b);
}

/* One setting, whether the file as a whole is good or not. */
static void
check_peek(const uint8_t *data, size_t size, bool good)
{
    char *value, *mistakes;

    write_file("t.conf", data, size);
    if (conf_peek(path_of("t.conf"), "live.mode", &value, &mistakes) == -1) {
        require(!good && value == NULL);
        check_mistakes(mistakes);
        mem_free(&mistakes);
    }
    require(mistakes == NULL);
    mem_free(&value);
}

static void
check(const uint8_t *data, size_t size)
{
    const struct sample_all *settings;
    char *mistakes;
    struct conf *c;

    setenv(VARIABLE, "/v", 1);
    c = load(data, size, &mistakes);
    unsetenv(VARIABLE); /* its value is printed, like those of a file */
    check_peek(data, size, c != NULL);
    if (c == NULL) {
        check_mistakes(mistakes);
        mem_free(&mistakes);
        return;
    }
    require(mistakes == NULL);
    settings = conf_settings(c);
    require(settings->sample.port >= 0 && settings->sample.port <= 65535);
    check_again(c, conf_print);
    check_again(c, conf_print_changed);
    conf_free(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    int home;

    if (!ready) {
        set_up();
        ready = true;
    }
    if (!leads_out(data, size)) {
        go_to(directory, &home);
        check(data, size);
        go_home(home);
    }
    return 0;
}
