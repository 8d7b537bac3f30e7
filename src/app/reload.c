/*
 * This version keeps the configuration it was started with.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/reload.h"

#include <string.h>

#include "app/master_impl.h"
#include "base/mem.h"

struct asked {
    struct later later;
    reload_done *done;
    void *arg;
};

static void
on_later(struct later *later)
{
    struct asked *a = LIST_ITEM(later, struct asked, later);

    a->done(a->arg, false, "reload is not in this version");
    mem_free(&a);
}

void
reload_ask(struct master *m, reload_done *done, void *arg)
{
    struct asked *a = mem_zero(sizeof(*a));

    a->done = done;
    a->arg = arg;
    later_init(&a->later, on_later);
    loop_later(m->loop, &a->later);
}

int
reload_test(struct master *m, char **text)
{
    struct generation *g = generation_load(0, m->file, text);

    if (g == NULL) {
        return -1;
    }
    generation_free(&g);
    *text = mem_dup("ok\n", strlen("ok\n"));
    return 0;
}
