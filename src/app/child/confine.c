/*
 * Entering the sandbox.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/confine.h"

#include "app/module.h"
#include "base/log.h"
#include "net/resolve.h"
#include "proc/life.h"
#include "proc/sandbox.h"
#include "proc/shared.h"
#include "store/store.h"

#define LOOK_MS 1000

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

void
confine_tell(const struct settings *s)
{
    struct sandbox o = options_of(s);

    privilege_tell(s->user);
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

int
confine_process(struct loop *l, const struct settings *s, bool writes,
                struct errmsg *err)
{
    struct sandbox o = options_of(s);
    struct rights rights = { .resize = writes, .connect_any = true };
    int rc;

    settings_each_layer(s, add_layer, &rights);
    resolve_paths(add_path, &rights);
    store_paths(add_path, &rights);
    o.rights = &rights;
    rc = sandbox_enter(&o, err);
    rights_clear(&rights);
    if (rc == 0) {
        guard.loop = l;
        timer_init(&guard.timer, on_look);
        timer_set(l, &guard.timer, LOOK_MS);
    }
    return rc;
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
