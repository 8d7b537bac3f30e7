/*
 * The list of folders that a client may choose from.  A thread looks for them;
 * the list is kept for some seconds, whoever asks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "json/json.h"

#define LIST_MAX ((size_t)8 << 20) /* bytes of JSON */
#define NAMES_MAX 200000           /* that a look reads */
#define NO_FOLDERS STR("[\"\"]")

struct looker { /* wants to hear of the next look's end */
    struct list link;
    place_looked *looked;
    void *arg;
};

/* ---- on a thread ---- */

struct looking {
    struct place_work work;
    char *paths[PLACE_FOLDERS]; /* owned */
    size_t count;
    size_t names; /* read so far */
    struct buf json;
};

static int
compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
is_folder(int at, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN) {
        return e->d_type == DT_DIR;
    }
    return fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static void
add_folder(struct looking *l, const char *above, int at, const struct dirent *e)
{
    char path[PLACE_PATH_MAX + 2];
    struct errmsg ignored;
    int n;

    if (e->d_name[0] == '.' || e->d_name[0] == '@' || !is_folder(at, e)) {
        return;
    }
    n = snprintf(path, sizeof(path), "%s%s%s", above,
                 above[0] != '\0' ? "/" : "", e->d_name);
    if (n > 0 && (size_t)n < sizeof(path) &&
        place_check_path(str_of(path, (size_t)n), &ignored) == 0) {
        l->paths[l->count++] = mem_dup(path, (size_t)n);
    }
}

static void
look_into(struct looking *l, const char *path)
{
    struct errmsg ignored;
    int fd =
        place_open_folder(l->work.base->root, str_from(path), false, &ignored);
    DIR *dir = fd == -1 ? NULL : fdopendir(fd);
    const struct dirent *e;

    if (dir == NULL) {
        if (fd != -1) {
            close(fd);
        }
        return;
    }
    while (l->count < PLACE_FOLDERS && l->names < NAMES_MAX &&
           (e = readdir(dir)) != NULL) {
        l->names++;
        add_folder(l, path, fd, e);
    }
    closedir(dir);
}

/* The nearest folders first, so that a deep one does not hide others. */
static void
run_look(struct place_work *w)
{
    struct looking *l = LIST_ITEM(w, struct looking, work);
    struct json_out o;

    l->paths[l->count++] = mem_dup("", 0);
    for (size_t i = 0; i < l->count && l->count < PLACE_FOLDERS; i++) {
        look_into(l, l->paths[i]);
    }
    qsort(l->paths, l->count, sizeof(l->paths[0]), compare);
    buf_init(&l->json, LIST_MAX);
    json_begin(&o, &l->json, false);
    json_open_array(&o);
    for (size_t i = 0; i < l->count; i++) {
        json_str(&o, str_from(l->paths[i]));
    }
    json_close(&o);
    w->ok = json_end(&o) == 0;
}

static void
clear_look(struct place_work *w)
{
    struct looking *l = LIST_ITEM(w, struct looking, work);

    for (size_t i = 0; i < l->count; i++) {
        mem_free(&l->paths[i]);
    }
    buf_clear(&l->json);
}

/* ---- on the loop ---- */

static void
end_look(struct place_work *w)
{
    struct looking *l = LIST_ITEM(w, struct looking, work);
    struct place *p = w->place;

    p->looking = false;
    if (w->ok) {
        buf_clear(&p->folders);
        p->folders = l->json;
        buf_init(&l->json, LIST_MAX);
    }
    if (p->folders_ms != PLACE_CHANGED) {
        p->folders_ms = loop_now(p->loop);
    }
}

static void start_look(struct place *p);

/* Tells those who asked before the look began; a callback may free p. */
static void
on_looked(void *arg, bool ok, struct str name, const char *msg, int64_t size)
{
    struct place_work *w = arg;

    (void)ok;
    (void)name;
    (void)msg;
    (void)size;
    while (w->place != NULL && !list_empty(&w->place->lookers)) {
        struct looker *k =
            LIST_ITEM(w->place->lookers.next, struct looker, link);

        list_remove(&k->link);
        k->looked(k->arg);
        mem_free(&k);
    }
}

static void
start_look(struct place *p)
{
    struct looking *l =
        place_work_new(p, sizeof(*l), run_look, on_looked, NULL);

    l->work.arg = &l->work;
    l->work.end = end_look;
    l->work.clear = clear_look;
    p->looking = true;
    p->folders_ms = 0;
    place_work_start(&l->work);
}

void
place_look(struct place *p, place_looked *looked, void *arg)
{
    bool fresh = !p->looking && p->folders_ms != PLACE_CHANGED &&
                 loop_now(p->loop) - p->folders_ms < PLACE_FOLDERS_KEPT_MS;
    struct looker *k;

    if (fresh) {
        looked(arg);
        return;
    }
    k = mem_zero(sizeof(*k));
    k->looked = looked;
    k->arg = arg;
    list_init(&k->link);
    list_append(&p->lookers, &k->link);
    if (!p->looking) {
        start_look(p);
    }
}

void
place_look_forget(struct place *p, const void *arg)
{
    LIST_EACH (node, &p->lookers) {
        struct looker *k = LIST_ITEM(node, struct looker, link);

        if (k->arg == arg) {
            list_remove(&k->link);
            mem_free(&k);
        }
    }
}

struct str
place_folders(const struct place *p)
{
    return buf_len(&p->folders) > 0 ? buf_str(&p->folders) : NO_FOLDERS;
}

/* ---- life ---- */

void
place_folders_init(struct place *p)
{
    list_init(&p->lookers);
    buf_init(&p->folders, LIST_MAX);
    start_look(p);
}

void
place_folders_changed(struct place *p)
{
    p->folders_ms = PLACE_CHANGED;
}

void
place_folders_clear(struct place *p)
{
    LIST_EACH (node, &p->lookers) {
        struct looker *k = LIST_ITEM(node, struct looker, link);

        list_remove(&k->link);
        mem_free(&k);
    }
    buf_clear(&p->folders);
}
