/*
 * Asking the checks of roles in a process of their user.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/role_trial.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/child/confine.h"
#include "app/child/folders.h"
#include "app/child/role.h"
#include "app/roles.h"
#include "proc/life.h"
#include "proc/rights.h"

struct trial {
    const struct settings *settings;
    int out;
};

/* It keeps the way to what is root's alone, as the role itself does. */
static int
become_role(const struct role *r, const struct settings *s, struct errmsg *err)
{
    struct rights rights = { .fork = false };
    int rc;

    if (r->may != NULL) {
        r->may(role_settings(r, s), &rights);
    }
    rc = confine_hold(s, &rights, err) == -1 ||
                 privilege_drop(s->user, s->group, err) == -1 ||
                 folders_check(&rights, false, err) == -1 ||
                 (r->check != NULL && r->check(role_settings(r, s), err) == -1)
             ? -1
             : 0;
    rights_clear(&rights);
    return rc;
}

static void __attribute__((noreturn))
try_role(const struct role *r, const struct trial *t)
{
    const struct conf_where *where = &t->settings->where;
    struct errmsg err = { "" };

    if (become_role(r, t->settings, &err) == -1) {
        dprintf(t->out, "%s:%d: %s cannot start: %s\n", where->file,
                where->line, r->name, err.text);
    }
    _exit(EXIT_SUCCESS);
}

static void
each(void *arg, const struct role *r)
{
    const struct trial *t = arg;
    pid_t pid;

    if (r->check == NULL || (r->wanted != NULL && !r->wanted(t->settings))) {
        return;
    }
    pid = fork();
    if (pid == 0) {
        try_role(r, t);
    }
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
}

void
role_trial(const struct settings *s, FILE *out)
{
    struct trial t = { s, -1 };
    FILE *said = tmpfile();
    char line[1024];

    if (said == NULL) {
        return;
    }
    t.out = fileno(said);
    roles_each(modules, each, &t);
    rewind(said);
    while (fgets(line, sizeof(line), said) != NULL) {
        fputs(line, out);
    }
    fclose(said);
}
