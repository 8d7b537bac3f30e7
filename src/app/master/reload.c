/*
 * The state machine of a reload, and the life of replaced generations.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/reload.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "app/child_commands.h"
#include "app/master/old_generations.h"
#include "app/master/reload_dry.h"
#include "app/master/role_table.h"
#include "app/master/sd_notify.h"
#include "app/master/shared_state.h"
#include "app/master/state.h"
#include "app/master/trial.h"
#include "app/metrics/metrics.h"
#include "app/roles.h"
#include "app/store_role.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/logring.h"
#include "proc/slot.h"

#define READY_WAIT_MS 10000 /* for all new workers to say READY */
#define LEAVE_WAIT_MS 10000 /* for all old ones to accept no more */
#define LEAVE_LOOK_MS 5

/* Somebody who asked for a reload. */
struct asked {
    struct list link;
    struct later tell;
    reload_done *done;
    void *arg;
    bool ok;
    char *text; /* owned; the answer */
};

/* ---- answers ---- */

static void
on_tell(struct later *later)
{
    struct asked *a = LIST_ITEM(later, struct asked, tell);

    if (a->done != NULL) {
        a->done(a->arg, a->ok, a->text);
    }
    mem_free(&a->text);
    mem_free(&a);
}

/* Tells all who are in the list, in a later turn. */
static void
answer(struct master *m, struct list *who, bool ok, const char *text)
{
    LIST_EACH (node, who) {
        struct asked *a = LIST_ITEM(node, struct asked, link);

        list_remove(&a->link);
        a->ok = ok;
        a->text = mem_dup(text, strlen(text));
        loop_later(m->loop, &a->tell);
    }
}

static void
count(struct master *m, bool ok)
{
    m->reload.failures += !ok;
    metrics_reload(ok);
}

/* A reload is over, one way or the other. */
static void
over(struct master *m, bool ok, const char *text)
{
    struct reload *r = &m->reload;

    timer_stop(m->loop, &r->deadline);
    r->phase = RELOAD_NONE;
    r->next = NULL;
    if (m->phase == SERVING) {
        sd_notify_send("READY=1");
    }
    answer(m, &r->asked, ok, text);
    if (!list_empty(&r->waiting)) {
        loop_later(m->loop, &r->begin);
    }
}

/* ---- log files ---- */

static bool
has_other_error_log(const struct master *m, const struct generation *g)
{
    return !str_eq(m->generation->settings->error_log.file,
                   g->settings->error_log.file);
}

/* From the generation in force to g. */
static void
change_error_log(const struct master *m, const struct generation *g)
{
    const struct error_log_settings *log = &g->settings->error_log;
    struct errmsg err;

    log_set((enum log_level)log->level, (enum log_format)log->format);
    child_commands_log_level(
        (enum log_level)log->level); /* roles, old workers */
    if (has_other_error_log(m, g) && logring_move(log->file, &err) == -1) {
        log_error("the error log stays where it is: %s", err.text);
    }
}

/* ---- failing ---- */

/* The first line of *rest, which is taken off; false at the end. */
static bool
take_line(struct str *rest, struct str *line)
{
    size_t len = str_find(*rest, '\n', 0);

    if (rest->len == 0) {
        return false;
    }
    *line = str_first(*rest, len);
    *rest = str_skip(*rest, len < rest->len ? len + 1 : len);
    return true;
}

static void
log_lines(const char *text)
{
    struct str rest = str_from(text), line;

    while (take_line(&rest, &line)) {
        log_error("reload: %.*s", STR_ARGS(line));
    }
}

/* Gives up what was opened and started for the next generation. */
static void
take_back(struct master *m)
{
    struct generation *next = m->reload.next;

    m->reload.next = NULL;
    if (next == NULL) {
        return;
    }
    m->socket->cancel(m->control);
    children_end(&m->children, next, SIGKILL);
    role_table_move(&m->children, m->table, m->generation);
    generation_unopen(next, &m->listeners);
    generation_forget_logs(next);
    shared_state_limit(m->generation);
    old_generations_add_failed(m, next);
    old_generations_look(m);
    old_generations_close_logs(m);
}

static void
fail(struct master *m, const char *text)
{
    log_lines(text);
    take_back(m);
    log_error("reload failed: generation %u stays in force",
              m->generation->number);
    count(m, false);
    over(m, false, text);
}

/* ---- reading ---- */

/* A line for each setting that only a restart can change; NULL: none. */
static char *
find_restarts(const struct master *m, const struct generation *g)
{
    char *differences = NULL, *text = NULL;
    size_t len = 0;
    struct str rest, line;
    FILE *out;

    if (conf_same_start(m->generation->conf, g->conf, &differences) == 0) {
        return NULL;
    }
    out = open_memstream(&text, &len);
    if (out == NULL) {
        return differences;
    }
    rest = str_from(differences);
    while (take_line(&rest, &line)) {
        fprintf(out, "%s: a reload cannot change %.*s: restart weir for that\n",
                m->file, STR_ARGS(line));
    }
    fclose(out);
    mem_free(&differences);
    return text;
}

/* Takes the last newline off. */
static void
trim_end(char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;

    if (len > 0 && text[len - 1] == '\n') {
        text[len - 1] = '\0';
    }
}

/* The file as it is now; NULL with every mistake in *text. */
static struct generation *
read_file(const struct master *m, char **text)
{
    struct generation *g =
        generation_load(m->generation->number + 1, m->file, text);

    if (g != NULL) {
        *text = find_restarts(m, g);
        *text = *text != NULL ? *text : trial_there(g->settings);
        if (*text != NULL) {
            generation_free(&g);
        }
    }
    trim_end(*text);
    return g;
}

/* Reading /proc could take long where there are many connections. */
static const char *
other_owner(void *arg, const struct addr_listen *where, struct errmsg *err)
{
    struct master *m = arg;

    if (generation_would_have(&m->listeners, where)) {
        return NULL;
    }
    errmsg_set(err, "in use by another program");
    return err->text;
}

int
reload_test(struct master *m, bool describe, char **text)
{
    struct generation *g = read_file(m, text);
    struct errmsg ok;
    int rc;

    if (g == NULL) {
        return -1;
    }
    rc = trial_open(g->settings, other_owner, m, text);
    if (rc == 0 && describe) {
        *text = reload_describe(m, g);
    } else if (rc == 0) {
        errmsg_set(&ok, "%s: ok", m->file);
        *text = mem_dup(ok.text, strlen(ok.text));
    }
    generation_free(&g);
    trim_end(*text);
    return rc;
}

/* ---- what was put in force ---- */

/* Answers; leaving: old workers that have not closed their sockets yet. */
static void
tell_success(struct master *m, size_t leaving)
{
    char *answered = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&answered, &len);

    if (out == NULL) {
        over(m, true, m->reload.told.text);
        return;
    }
    fprintf(out, "%s\n", m->reload.told.text);
    if (leaving > 0) {
        fprintf(out, "old workers that may still accept connections: %zu\n",
                leaving);
    }
    old_generations_foretell(m, m->generation->settings->max_generations, out);
    fclose(out);
    trim_end(answered);
    over(m, true, answered);
    mem_free(&answered);
}

/* A client that hears of the reload may connect at once: no old worker accepts
 * it, and an address that was taken away refuses it and is free for others. */
static void
look_leaving(struct master *m)
{
    struct reload *r = &m->reload;
    size_t leaving = children_leaving(&m->children);

    if ((leaving > 0 || generation_some_retire(&m->listeners)) &&
        clock_ms() < r->leave_ms) {
        timer_set(m->loop, &r->deadline, LEAVE_LOOK_MS);
    } else {
        tell_success(m, leaving);
    }
}

static void
wait_leaving(struct master *m)
{
    size_t workers = children_workers(&m->children, m->generation);
    size_t all = children_running(&m->children, CHILD_WORKERS);

    errmsg_set(&m->reload.told,
               "generation %u is in force: %zu workers, %zu old ones "
               "drain",
               m->generation->number, workers, all - workers);
    log_notice("%s", m->reload.told.text);
    count(m, true);
    m->reload.phase = RELOAD_LEAVING;
    m->reload.leave_ms = clock_ms() + LEAVE_WAIT_MS;
    look_leaving(m);
}

/* ---- putting in force ---- */

/* All new workers are ready: from the first line that changes something to
 * the last there is nothing that can fail. */
static void
put_in_force(struct master *m)
{
    struct generation *old = m->generation, *next = m->reload.next;
    const struct settings *s = next->settings;
    struct errmsg err;

    if (generation_listen(next, &err) == -1) {
        fail(m, err.text);
        return;
    }
    change_error_log(m, next);
    m->socket->commit(m->control);
    m->generation = next;
    m->reload.next = NULL;
    metrics_in_force(next);
    generation_keep_listeners(next);
    /* A role knows the new settings before a worker asks by them. */
    role_table_move(&m->children, m->table, next);
    children_serve(&m->children, next);
    generation_announce(next);
    master_retire_listeners(m, next);
    children_replace(&m->children, old);
    old_generations_add(m, old, s->reload_drain);
    watchdog_limit(&m->watchdog, s->watchdog);
    old_generations_limit(m);
    wait_leaving(m);
    old_generations_look(m);
    old_generations_close_logs(m);
}

static uint32_t
free_slots(void)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < slots_count(); i++) {
        n += i >= slots_end() || atomic_load(&slot_card(i)->kind) == SLOT_FREE;
    }
    return n;
}

/* Starts the new workers when there are slots for them; until then closes old
 * generations, one after the other. */
static void
start_workers(struct master *m)
{
    struct reload *r = &m->reload;

    if (free_slots() >= r->next->workers) {
        r->phase = RELOAD_STARTING;
        timer_set(m->loop, &r->deadline, READY_WAIT_MS);
        shared_state_limit(r->next);
        children_start_workers(&m->children, r->next);
        return;
    }
    if (r->phase != RELOAD_ROOM) {
        r->phase = RELOAD_ROOM;
        timer_set(m->loop, &r->deadline, READY_WAIT_MS);
    }
    if (!old_generations_close_oldest(m, "the new workers need its slots") &&
        list_empty(&r->old)) {
        fail(m, "there are no free slots for so many workers: a restart "
                "makes room");
    }
}

/* Starts the roles that the new workers need and that do not run yet. */
static void
start_roles(struct master *m)
{
    struct reload *r = &m->reload;

    role_table_start(&m->children, m->table, r->next, true);
    if (role_table_first_ready(&m->children, r->next)) {
        start_workers(m);
    } else {
        r->phase = RELOAD_ROLES;
        timer_set(m->loop, &r->deadline, READY_WAIT_MS);
    }
}

static int
open_next(struct master *m, struct errmsg *err)
{
    const struct generation *next = m->reload.next;

    /* Moving the error log is done last: so it is tried before. */
    if (has_other_error_log(m, next) &&
        logring_open(next->settings->error_log.file, err) == -1) {
        return errmsg_prefix(err, "error_log: ");
    }
    store_role_forget(m->generation->settings);
    if (m->socket->prepare(m->control, &next->settings->control, err) == -1 ||
        (store_role_prepare(next->settings, err) == -1 &&
         !roles_is_failing(store_roles)) ||
        role_table_make_folders(m->table, next->settings, err) == -1) {
        return -1;
    }
    if (generation_open(m->reload.next, &m->listeners, err) == 0) {
        shared_state_learn(next, m->table);
        return 0;
    }
    return -1;
}

static void
begin(struct master *m)
{
    struct errmsg err = { "" };
    char *text = NULL;

    log_notice("reload: reading %s", m->file);
    sd_notify_reloading();
    m->reload.next = read_file(m, &text);
    if (m->reload.next == NULL) {
        fail(m, text);
        mem_free(&text);
    } else if (open_next(m, &err) == -1) {
        fail(m, err.text);
    } else {
        start_roles(m);
    }
}

static void
on_begin(struct later *later)
{
    struct reload *r = LIST_ITEM(later, struct reload, begin);
    struct master *m = LIST_ITEM(r, struct master, reload);

    if (m->phase == STARTING || r->phase != RELOAD_NONE ||
        list_empty(&r->waiting)) {
        return;
    }
    list_splice(&r->asked, &r->waiting);
    if (m->phase != SERVING) {
        count(m, false);
        over(m, false, "weir is stopping");
    } else {
        begin(m);
    }
}

/* ---- what happens meanwhile ---- */

static void
on_deadline(struct timer *t)
{
    struct reload *r = LIST_ITEM(t, struct reload, deadline);
    struct master *m = LIST_ITEM(r, struct master, reload);

    if (r->phase == RELOAD_ROLES) {
        fail(m, "a process that the workers need was not ready within 10 s");
    } else if (r->phase == RELOAD_ROOM) {
        fail(m, "the workers of old generations do not end: no free slots");
    } else if (r->phase == RELOAD_STARTING) {
        fail(m, "the new workers were not ready within 10 s");
    } else if (r->phase == RELOAD_LEAVING) {
        look_leaving(m);
    }
}

void
reload_on_ready(struct master *m)
{
    if (m->reload.phase == RELOAD_ROLES &&
        role_table_first_ready(&m->children, m->reload.next)) {
        start_workers(m);
    } else if (m->reload.phase == RELOAD_STARTING &&
               children_workers_ready(&m->children, m->reload.next)) {
        put_in_force(m);
    }
}

void
reload_on_failed(struct master *m, const struct child *c, const char *why)
{
    char name[CHILD_NAME];
    struct errmsg text;

    if (m->reload.next != NULL && c->generation == m->reload.next) {
        errmsg_set(&text, "%s cannot start: %s", child_name(c, name), why);
        fail(m, text.text);
    }
}

void
reload_on_gone(struct master *m)
{
    old_generations_look(m);
    if (m->reload.phase == RELOAD_ROOM) {
        start_workers(m);
    } else if (m->reload.phase == RELOAD_LEAVING) {
        look_leaving(m);
    }
}

/* ---- for the master ---- */

void
reload_ask(struct master *m, reload_done *done, void *arg)
{
    struct asked *a = mem_zero(sizeof(*a));

    a->done = done;
    a->arg = arg;
    later_init(&a->tell, on_tell);
    list_append(&m->reload.waiting, &a->link);
    loop_later(m->loop, &m->reload.begin);
}

void
reload_init(struct master *m)
{
    struct reload *r = &m->reload;

    list_init(&r->asked);
    list_init(&r->waiting);
    list_init(&r->old);
    timer_init(&r->deadline, on_deadline);
    later_init(&r->begin, on_begin);
}

void
reload_serving(struct master *m)
{
    if (!list_empty(&m->reload.waiting)) {
        loop_later(m->loop, &m->reload.begin);
    }
}

void
reload_abort(struct master *m)
{
    if (m->reload.phase == RELOAD_LEAVING) {
        tell_success(m, children_leaving(&m->children));
    } else if (m->reload.phase != RELOAD_NONE) {
        fail(m, "weir is stopping");
    }
    answer(m, &m->reload.waiting, false, "weir is stopping");
}

void
reload_clear(struct master *m)
{
    struct reload *r = &m->reload;

    later_cancel(&r->begin);
    timer_stop(m->loop, &r->deadline);
    LIST_EACH (node, &r->waiting) {
        struct asked *a = LIST_ITEM(node, struct asked, link);

        list_remove(&a->link);
        mem_free(&a);
    }
    old_generations_clear(m);
}
