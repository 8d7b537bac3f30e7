/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/settings/settings.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "proc/life.h"
#include "proc/reach.h"
#include "proc/rights.h"
#include "proc/sandbox.h"

#define PATHS_MAX 256  /* that are kept */
#define SCRIPTS_DEEP 4 /* as the kernel has it */
#define FIRST_LINE 256 /* bytes of it */

/* ---- texts ---- */

/* Rights borrow their texts.  Each that differs is kept once. */
static struct str
keep(const char *path)
{
    static struct str kept[PATHS_MAX];
    static size_t count;
    struct str text = str_from(path);

    for (size_t i = 0; i < count; i++) {
        if (str_eq(kept[i], text)) {
            return kept[i];
        }
    }
    if (count == PATHS_MAX) {
        return STR_NONE;
    }
    kept[count] = str_of(mem_dup(text.ptr, text.len), text.len);
    return kept[count++];
}

/* Rights that two instances have in common stand there once. */
static bool
has(const struct rights_paths *paths, struct str path)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (str_eq(paths->items[i], path)) {
            return true;
        }
    }
    return false;
}

static void
add_read(struct rights *r, const char *path)
{
    struct str kept = keep(path);

    if (kept.len > 0 && !has(&r->read, kept)) {
        rights_read(r, kept);
    }
}

static void
add_program(struct rights *r, struct str path)
{
    if (path.len > 0 && !has(&r->programs, path)) {
        rights_execute(r, path);
    }
}

/* ---- programs ---- */

struct str
fetch_program_beside(const char *name)
{
    char path[PATH_MAX];

    path_of_program(name, path);
    return keep(path);
}

static bool
is_program(struct reach way)
{
    struct stat st;

    return fstatat(way.at, way.path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
           faccessat(way.at, way.path, X_OK, 0) == 0;
}

static struct reach
by_path(const char *path)
{
    return (struct reach){ AT_FDCWD, path };
}

static struct str
search(struct str named)
{
    struct str rest = STR(FETCH_PATH);
    char path[PATH_MAX];

    while (rest.len > 0) {
        struct str folder = str_cut(&rest, ':');
        int n = snprintf(path, sizeof(path), "%.*s/%.*s", STR_ARGS(folder),
                         STR_ARGS(named));

        if (n < (int)sizeof(path) && is_program(by_path(path))) {
            return keep(path);
        }
    }
    return STR_NONE;
}

static struct str
find_program(struct str named, struct reach (*way_to)(const char *path),
             struct errmsg *err)
{
    char path[PATH_MAX];

    if (named.len == 0 || str_find(named, '/', 0) == named.len) {
        struct str found = named.len == 0 ? STR_NONE : search(named);

        if (found.len == 0) {
            errmsg_set(err, "\"%.*s\" is not in %s", STR_ARGS(named),
                       FETCH_PATH);
        }
        return found;
    }
    str_copy(path, sizeof(path), named);
    if (is_program(way_to(path))) {
        return keep(path);
    }
    errmsg_sys(err, "cannot execute %s", path);
    return STR_NONE;
}

struct str
fetch_program(struct str named, struct errmsg *err)
{
    return find_program(named, by_path, err);
}

struct str
fetch_engine_program(struct str named, struct errmsg *err)
{
    return find_program(named, reach_of, err);
}

/* ---- scripts ---- */

/* Reads the line that names the interpreter.  False: this is no script. */
static bool
read_interpreter(struct str program, char line[static FIRST_LINE])
{
    int fd = open(program.ptr, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, line, FIRST_LINE - 1);

    if (fd != -1) {
        close(fd);
    }
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return line[0] == '#' && line[1] == '!';
}

/* "/usr/bin/env -S python3 -I": the second program is python3. */
static struct str
interpreter(struct str program, struct rights *r)
{
    char line[FIRST_LINE];
    struct str rest, word;
    struct errmsg ignored;

    if (!read_interpreter(program, line)) {
        return STR_NONE;
    }
    rest = str_trim(str_skip(str_from(line), 2));
    word = str_cut(&rest, ' ');
    if (str_ends(word, STR("/env"))) {
        add_program(r, fetch_program(word, &ignored));
        do {
            rest = str_trim(rest);
            word = str_cut(&rest, ' ');
        } while (word.len > 0 && word.ptr[0] == '-');
    }
    return fetch_program(word, &ignored);
}

/* A Python that lies elsewhere than below /usr, which each program reads, has
 * its library beside it. */
static void
read_library(struct str python, struct rights *r)
{
    static const char *const signs[] = { "pyvenv.cfg", "lib/python3*" };
    char prefix[PATH_MAX], sign[PATH_MAX + 16];
    glob_t found;

    str_copy(prefix, sizeof(prefix), python);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(prefix, '/');

        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
    if (prefix[0] == '\0' || strncmp(prefix, "/usr", 4) == 0) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(sign, sizeof(sign), "%s/%s", prefix, signs[i]);
        if (glob(sign, 0, NULL, &found) == 0) {
            add_read(r, prefix);
            globfree(&found);
            return;
        }
    }
}

/* The program and what it is a script of. */
static void
execute(struct str program, struct rights *r)
{
    for (int i = 0; i < SCRIPTS_DEEP && program.len > 0; i++) {
        char real[PATH_MAX];

        add_program(r, program);
        if (i > 0) {
            read_library(program, r);
            if (realpath(program.ptr, real) != NULL) {
                read_library(str_from(real), r);
            }
        }
        program = interpreter(program, r);
    }
}

/* One that is not there may be installed later: Debian's is a script of
 * python3. */
static void
execute_engine(struct str path, struct rights *r)
{
    struct errmsg ignored;
    struct str program = fetch_program(path, &ignored);

    if (program.len > 0) {
        execute(program, r);
        return;
    }
    add_program(r, path);
    execute(fetch_program(STR("/usr/bin/python3"), &ignored), r);
}

/* ffprobe lies beside ffmpeg. */
static void
execute_ffmpeg(struct str named, struct rights *r)
{
    struct errmsg ignored;
    struct str ffmpeg = fetch_program(named, &ignored);
    char path[PATH_MAX];
    char *slash;

    execute(ffmpeg, r);
    str_copy(path, sizeof(path), ffmpeg);
    slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
        str_append(path, sizeof(path), strlen(path), STR("/ffprobe"));
        execute(fetch_program(str_from(path), &ignored), r);
    }
}

/* ---- rights ---- */

static void
read_if_there(const char *path, struct rights *r)
{
    if (access(path, F_OK) == 0) {
        add_read(r, path);
    }
}

/* Certificates, types of files, the clock, Python's own settings. */
static void
read_system(struct rights *r)
{
    static const char *const paths[] = {
        "/etc/ssl",        "/etc/ca-certificates", "/etc/pki",
        "/etc/mime.types", "/etc/localtime",       "/dev/urandom",
        "/etc/python3",    "/usr/share/mime",      "/etc/fonts",
    };
    glob_t found;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        read_if_there(paths[i], r);
    }
    if (glob("/etc/python3.*", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            add_read(r, found.gl_pathv[i]);
        }
        globfree(&found);
    }
}

/* The folder, because an editor puts another file in the place of this. */
static void
read_options(struct str file, struct rights *r)
{
    char path[PATH_MAX];
    char *slash;

    if (file.len == 0) {
        return;
    }
    str_copy(path, sizeof(path), file);
    slash = strrchr(path, '/');
    if (slash == NULL) {
        str_copy(path, sizeof(path), STR("."));
    } else {
        slash[slash == path] = '\0';
    }
    read_if_there(path, r);
}

void
fetch_rights(const void *root, struct rights *r)
{
    const struct conf_groups *all =
        &((const struct downloads_root *)root)->instances;
    const struct downloads_instance *items = all->items;

    r->supervise = true;
    r->seal = true;
    r->connect_any = true;
    rights_execute(r, fetch_program_beside("weir-supervisor"));
    execute(fetch_program_beside("weir-fetch"), r);
    read_system(r);
    for (size_t i = 0; i < all->count; i++) {
        rights_write(r, items[i].directory);
        execute_engine(items[i].engine_path, r);
        execute_ffmpeg(items[i].ffmpeg_path, r);
        read_options(items[i].engine_options_file, r);
    }
}

static bool
has_same(const struct downloads_instance *a, const struct downloads_instance *b)
{
    return str_eq(a->directory, b->directory) &&
           str_eq(a->engine_path, b->engine_path) &&
           str_eq(a->ffmpeg_path, b->ffmpeg_path) &&
           str_eq(a->engine_options_file, b->engine_options_file);
}

static const struct downloads_instance *
find_instance(const struct conf_groups *all, struct str name)
{
    const struct downloads_instance *items = all->items;

    for (size_t i = 0; i < all->count; i++) {
        if (str_eq(items[i].name, name)) {
            return &items[i];
        }
    }
    return NULL;
}

/* Their order does not count: programs begin in the first folder that the
 * starter knows, whichever it is. */
bool
fetch_rights_changed(const struct settings *before, const struct settings *now)
{
    const struct conf_groups *a = &downloads_root_of(before)->instances;
    const struct conf_groups *b = &downloads_root_of(now)->instances;
    const struct downloads_instance *items = b->items;

    for (size_t i = 0; i < b->count; i++) {
        const struct downloads_instance *had = find_instance(a, items[i].name);

        if (had == NULL || !has_same(had, &items[i])) {
            return true;
        }
    }
    return a->count != b->count;
}

/* ---- what it cannot do without ---- */

static int
check_program(const char *name, struct errmsg *err)
{
    struct str path = fetch_program_beside(name);

    if (is_program(reach_of(path.ptr))) {
        return 0;
    }
    return errmsg_sys(err,
                      "cannot execute %.*s: install %s there, or take module "
                      "downloads out of weir.conf",
                      STR_ARGS(path), name);
}

int
fetch_check(const void *root, struct errmsg *err)
{
    (void)root;
    return check_program("weir-supervisor", err) == -1
               ? -1
               : check_program("weir-fetch", err);
}

/* ---- what does not hold ---- */

void
fetch_rights_tell(void)
{
    if (sandbox_landlock_version() < SANDBOX_HOLDS_PORTS &&
        !sandbox_can_give()) {
        log_notice("downloads: egress does not hold for engines on this "
                   "kernel: they connect to any port (it needs Landlock %d, "
                   "Linux 6.7, or descriptors given by seccomp, Linux 5.9)",
                   SANDBOX_HOLDS_PORTS);
    }
}
