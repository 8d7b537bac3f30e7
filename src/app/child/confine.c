/*
 * Entering the sandbox.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/confine.h"

#include "app/child/programs.h"
#include "app/module.h"
#include "app/store_role.h"
#include "base/log.h"
#include "net/resolve.h"
#include "proc/life.h"
#include "proc/reach.h"
#include "proc/sandbox.h"
#include "proc/shared.h"
#include "store/store.h"

#define LOOK_MS 1000
#define TELL_MAX 1024 /* bytes of a line about rights */

static struct {
    struct timer timer;
    struct loop *loop; /* borrowed; NULL: not in the sandbox */
    unsigned refused;  /* calls that were logged */
} guard;

static struct sandbox
options_of(const struct settings *s)
{
    return (struct sandbox){
        .seccomp = s->sandbox.seccomp,
        .landlock = s->sandbox.landlock,
        .capabilities = s->sandbox.capabilities,
        .core_dumps = s->sandbox.core_dumps,
    };
}

void
confine_prepare(const struct settings *s)
{
    struct sandbox o = options_of(s);

    sandbox_prepare(&o);
}

int
confine_hold(const struct settings *s, const struct rights *r,
             struct errmsg *err)
{
    struct rights store = { .fork = false };
    struct privilege_ids user;

    if (privilege_ids(s->user, s->group, &user, err) == -1) {
        return -1;
    }
    reach_hold(r, &user, 1);
    if (s->store.backend == STORE_SQLITE && store_role_wanted(s)) {
        rights_write(&store, s->store.path);
        reach_hold(&store, &user, 1);
        rights_clear(&store);
    }
    return 0;
}

void
confine_tell(const struct settings *s)
{
    struct sandbox o = options_of(s);

    privilege_tell(s->user);
    if (programs_wanted(s)) {
        privilege_tell_program(s->program_user);
    }
    sandbox_tell(&o);
    if (!shared_is_sealed()) {
        log_notice("this kernel (before Linux 5.1) does not keep children from "
                   "making the master's shared memory writable again");
    }
}

/* ---- rights ---- */

static void
add_path(void *arg, struct str path)
{
    rights_read(arg, path);
}

static void
add_layer(void *arg, const struct conf_extra *layer)
{
    const struct module *m = layer->what;

    if (m != NULL && m->paths != NULL) {
        m->paths(layer->settings, add_path, arg);
    }
}

/* ---- entering ---- */

static void
look(void)
{
    int last;
    unsigned refused = sandbox_refused(&last);

    if (refused != guard.refused) {
        log_warn("the sandbox refused %u system calls; the last has number %d",
                 refused - guard.refused, last);
        guard.refused = refused;
    }
}

static void
on_look(struct timer *t)
{
    look();
    timer_set(guard.loop, t, LOOK_MS);
}

static void
tell_rights(const struct rights *r)
{
    struct buf text;

    buf_init(&text, TELL_MAX);
    rights_describe(r, &text);
    log_info("rights: %.*s", STR_ARGS(buf_str(&text)));
    buf_clear(&text);
}

void
confine_add_layers(const struct settings *s, struct rights *r)
{
    settings_each_layer(s, add_layer, r);
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->may != NULL) {
            modules[i]->may(s, r);
        }
    }
}

int
confine_process(struct loop *l, const struct settings *s, struct rights *r,
                struct errmsg *err)
{
    struct sandbox o = options_of(s);
    int rc;

    resolve_rights(r);
    store_rights(r);
    o.rights = r;
    rc = sandbox_enter(&o, err);
    if (rc == 0) {
        tell_rights(r);
        guard.loop = l;
        timer_init(&guard.timer, on_look);
        timer_set(l, &guard.timer, LOOK_MS);
    }
    rights_clear(r);
    return rc;
}

struct sandbox
confine_programs(const struct settings *s, const struct rights *r)
{
    struct sandbox o = options_of(s);

    o.kind = r->supervise ? SANDBOX_SUPERVISOR : SANDBOX_PROGRAM;
    o.rights = r;
    return o;
}

void
confine_leave(struct loop *l)
{
    if (guard.loop == l && l != NULL) {
        look();
        timer_stop(l, &guard.timer);
        guard.loop = NULL;
    }
}
