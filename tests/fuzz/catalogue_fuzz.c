/*
 * Fuzz target: a directory of voices.
 *
 * The input makes it: folders, files, links, pipes, unreadable ones, each with
 * names and bytes of its own.  Its voices and variants have names that may be
 * asked for, none comes from behind a link, its digest is the same twice, and
 * no descriptor is left.
 *
 * covers: modules/tts/catalogue_files.c modules/tts/tree.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../../modules/tts/catalogue_impl.h"
#include "../../modules/tts/request.h"
#include "../../modules/tts/tree.h"

#define STEPS_MAX 40
#define HIDDEN "hidden" /* what links lead to has that name */

static char directory[] = "/tmp/weir-fuzz-catalogue-XXXXXX";
static char outside[] = "/tmp/weir-fuzz-outside-XXXXXX"; /* links lead there */
static int top = -1;

/* ---- the directory ---- */

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    return where->level == 0 ? 0 : remove(path);
}

static void
empty(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
clean_up(void)
{
    empty(directory);
    empty(outside);
    rmdir(directory);
    rmdir(outside);
}

static void
write_at(int folder, const char *name, struct str text)
{
    int fd =
        openat(folder, name,
               O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);

    if (fd != -1) {
        (void)!write(fd, text.ptr, text.len);
        close(fd);
    }
}

static int
open_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    require(fd != -1);
    return fd;
}

static void
set_up(void)
{
    struct str voice = STR("name " HIDDEN "\nlanguage zz\n");
    int folder;

    require(mkdtemp(directory) != NULL && mkdtemp(outside) != NULL);
    atexit(clean_up);
    top = open_folder(directory);
    folder = open_folder(outside);
    require(mkdirat(folder, "!v", 0755) == 0);
    write_at(folder, HIDDEN, voice);
    write_at(folder, "!v/" HIDDEN, voice);
    close(folder);
}

/* ---- its making ---- */

static const char *const usual[] = {
    "voices", "lang", "espeak-ng-data", "phontab", "!v", "mb", "gmw", "..",
};

/* A name of the usual ones, or of the input. */
static void
take_name(struct str *input, char *to, size_t size)
{
    unsigned which = take_byte(input);

    if (which < 2 * sizeof(usual) / sizeof(*usual)) {
        str_copy(to, size, str_from(usual[which / 2]));
        return;
    }
    str_copy(to, size, str_cut(input, '\n'));
    for (char *c = to; *c != '\0'; c++) {
        *c = *c == '/' ? '-' : *c;
    }
}

/* A file of `many` times the same line, so that some are too long. */
static void
write_voice(struct str *input, int folder, const char *name)
{
    unsigned length = take_byte(input);
    struct str text = str_first(*input, length);
    struct buf all;

    *input = str_skip(*input, text.len);
    buf_init(&all, (size_t)1 << 20);
    for (unsigned many = length > 250 ? 200 : 1; many > 0; many--) {
        buf_add_str(&all, text);
    }
    write_at(folder, name, buf_str(&all));
    buf_clear(&all);
}

/* The folder itself may be a link: it is what the operator names. */
static void
make_link(int folder, const char *name, bool to_folder)
{
    char target[sizeof(outside) + 10];
    size_t n = str_copy(target, sizeof(target), str_from(outside));

    if (!to_folder) {
        str_append(target, sizeof(target), n, STR("/" HIDDEN));
    }
    if (strcmp(name, "espeak-ng-data") != 0) {
        (void)!symlinkat(target, folder, name);
    }
}

enum { GO_DOWN, GO_UP, FILE_HERE, VOICE, LINK, OTHER, STEPS };

static void
go_down(int *folder, const char *name)
{
    int below;

    mkdirat(*folder, name, 0755);
    below =
        openat(*folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below != -1) {
        close(*folder);
        *folder = below;
    }
}

static void
go_to_top(int *folder)
{
    close(*folder);
    *folder = open_folder(directory);
}

static void
take_step(struct str *input, int *folder)
{
    unsigned what = take_byte(input);
    char name[NAME_MAX + 1];

    if (what % STEPS == GO_UP) {
        go_to_top(folder);
        return;
    }
    take_name(input, name, sizeof(name));
    if (strcmp(name, "..") == 0) {
        return;
    }
    if (what % STEPS == GO_DOWN) {
        go_down(folder, name);
    } else if (what % STEPS == FILE_HERE) {
        write_voice(input, *folder, name);
    } else if (what % STEPS == VOICE) {
        write_at(*folder, name, STR("name some\nlanguage xx\n"));
    } else if (what % STEPS == LINK) {
        make_link(*folder, name, what < 128);
    } else {
        mkfifoat(*folder, name, what < 128 ? 0644 : 0);
    }
}

static void
make(struct str input)
{
    int folder = open_folder(directory);

    for (int i = 0; i < STEPS_MAX && input.len > 0; i++) {
        take_step(&input, &folder);
    }
    close(folder);
}

/* ---- its reading ---- */

static void
look_at(const struct catalogue *c)
{
    for (size_t i = 0; i < catalogue_voices(c); i++) {
        const struct catalogue_voice *v = catalogue_voice_at(c, i);

        require(catalogue_takes_name(v->name));
        require(v->file.len <= SPEECH_FILE_MAX && v->language.len > 0);
        require(!str_eq(v->display, STR(HIDDEN)));
        require(catalogue_find(c, v->name) == v);
    }
    for (size_t i = 1; i <= catalogue_variants(c); i++) {
        struct str name = catalogue_variant_at(c, (int64_t)i);

        require(catalogue_takes_name(name));
        require(!str_eq(name, STR(HIDDEN)));
    }
}

static void
read_it(void)
{
    struct str path = str_from(directory);
    struct catalogue *c = catalogue_new();
    uint8_t first[DIGEST_SHA256], second[DIGEST_SHA256];
    struct errmsg err = { "" };
    int checked = catalogue_check_directory(path, &err);

    require(catalogue_add_directory(c, path, &err) == checked);
    require((checked == 0) == (err.text[0] == '\0'));
    catalogue_sort(c);
    look_at(c);
    catalogue_free(&c);
    tree_digest(&path, 1, first);
    tree_digest(&path, 1, second);
    require(memcmp(first, second, sizeof(first)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t before;

    if (memmem(data, size, HIDDEN, sizeof(HIDDEN) - 1) != NULL) {
        return -1; /* its own file of that name would be no fault */
    }
    if (top == -1) {
        set_up();
    }
    before = open_descriptors();
    make(str_of(data, size));
    read_it();
    require(open_descriptors() == before);
    empty(directory);
    return 0;
}
