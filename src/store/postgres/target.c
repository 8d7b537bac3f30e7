/*
 * Taking a conninfo apart and putting one for a single host together.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/target.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"

#define DEFAULT_FOLDER "/var/run/postgresql"
#define DEFAULT_PORT "5432"
/* A path below what is no folder: nothing is there, whoever looks. */
#define NOWHERE "/dev/null/none"
#define OPTIONS 64 /* that libpq knows, at most */

struct pg_target {
    struct list link;
    PQconninfoOption *options; /* owned */
    char *user;                /* owned: of this process, or NULL */
    struct pg_host hosts[PG_HOSTS];
    size_t count;
    struct buf texts; /* of the hosts */
};

static struct list all = { &all, &all };

/* ---- what is allowed ---- */

/* They read files that libpq finds by itself, or change what is said. */
static const char *const refused[] = { "service", "passfile", "requirepeer",
                                       "replication", NULL };

static const char *
value_of(const PQconninfoOption *o, const char *keyword)
{
    for (; o != NULL && o->keyword != NULL; o++) {
        if (strcmp(o->keyword, keyword) == 0) {
            return o->val != NULL ? o->val : "";
        }
    }
    return "";
}

/* What libpq says may quote a password; which option there is not does
 * not. */
static PQconninfoOption *
parse(struct str conninfo, struct errmsg *err)
{
    static const char unknown[] = "invalid connection option";
    char *text, *why = NULL;

    if (libpq_load(err) == -1) {
        return NULL;
    }
    text = mem_dup(conninfo.ptr, conninfo.len);
    PQconninfoOption *o = libpq.conninfoParse(text, &why);
    const char *found = why != NULL ? strstr(why, unknown) : NULL;

    mem_free(&text);
    if (o == NULL && found != NULL) {
        errmsg_set(err, "has an %.*s", (int)strcspn(found, "\n"), found);
    } else if (o == NULL) {
        errmsg_set(err, "must be \"host=... dbname=...\" or "
                        "\"postgresql://...\", as libpq reads it");
    }
    libpq.freemem(why);
    return o;
}

static int
check_options(const PQconninfoOption *o, struct errmsg *err)
{
    const char *encoding = value_of(o, "client_encoding");

    for (size_t i = 0; refused[i] != NULL; i++) {
        if (value_of(o, refused[i])[0] != '\0') {
            return errmsg_set(err, "must not have the option \"%s\"",
                              refused[i]);
        }
    }
    if (encoding[0] != '\0' && strcasecmp(encoding, "utf8") != 0) {
        return errmsg_set(err, "must have no other client_encoding than UTF8");
    }
    return 0;
}

/* ---- hosts ---- */

/* Item i of a list with commas; of one with a single item always that. */
static struct str
item(const char *list, size_t i)
{
    struct str rest = str_from(list), found = str_cut(&rest, ',');

    if (strchr(list, ',') == NULL) {
        return found;
    }
    while (i-- > 0) {
        found = str_cut(&rest, ',');
    }
    return found;
}

static size_t
items(const char *list)
{
    size_t n = 1;

    for (; *list != '\0'; list++) {
        n += *list == ',';
    }
    return n;
}

static const char *
keep(struct pg_target *t, struct str s)
{
    char *at = (char *)buf_reserve(&t->texts, s.len + 1);

    memcpy(at, s.ptr, s.len);
    at[s.len] = '\0';
    buf_commit(&t->texts, s.len + 1);
    return at;
}

static struct pg_host
host_at(struct pg_target *t, size_t i)
{
    struct str name = item(value_of(t->options, "host"), i);
    struct str address = item(value_of(t->options, "hostaddr"), i);
    struct str port = item(value_of(t->options, "port"), i);

    if (name.len == 0 && address.len == 0) {
        name = STR(DEFAULT_FOLDER);
    }
    return (struct pg_host){
        .name = keep(t, name),
        .address = keep(t, address),
        .port = keep(t, port.len > 0 ? port : STR(DEFAULT_PORT)),
        .local = address.len == 0 && (name.ptr[0] == '/' || name.ptr[0] == '@'),
    };
}

static int
find_hosts(struct pg_target *t, struct errmsg *err)
{
    const char *names = value_of(t->options, "host");
    const char *addresses = value_of(t->options, "hostaddr");
    const char *ports = value_of(t->options, "port");
    size_t count = items(names[0] != '\0' ? names : addresses);

    if (count > PG_HOSTS) {
        return errmsg_set(err, "must not have more than %d hosts", PG_HOSTS);
    }
    if ((names[0] != '\0' && addresses[0] != '\0' &&
         items(addresses) != count) ||
        (items(ports) > 1 && items(ports) != count)) {
        return errmsg_set(err, "must have as many ports and addresses as "
                               "hosts");
    }
    /* Moved when it grows, so it must not: each text stands there once. */
    buf_init(&t->texts, 3 * PG_HOSTS + 64 * PG_HOSTS + strlen(names) +
                            strlen(addresses) + strlen(ports) * PG_HOSTS);
    buf_reserve(&t->texts, buf_room(&t->texts));
    for (; t->count < count; t->count++) {
        t->hosts[t->count] = host_at(t, t->count);
    }
    return 0;
}

size_t
pg_target_hosts(const struct pg_target *t)
{
    return t->count;
}

const struct pg_host *
pg_target_host(const struct pg_target *t, size_t i)
{
    return &t->hosts[i];
}

/* ---- life ---- */

/* libpq would ask for it when it connects, in the sandbox. */
static char *
name_of_user(void)
{
    const struct passwd *p = getpwuid(geteuid());

    return p != NULL ? mem_dup(p->pw_name, strlen(p->pw_name)) : NULL;
}

struct pg_target *
pg_target_new(struct str conninfo, struct errmsg *err)
{
    struct pg_target *t = mem_zero(sizeof(*t));

    list_append(&all, &t->link);
    t->options = parse(conninfo, err);
    if (t->options == NULL || check_options(t->options, err) == -1 ||
        find_hosts(t, err) == -1) {
        pg_target_free(&t);
        return NULL;
    }
    if (value_of(t->options, "user")[0] == '\0') {
        t->user = name_of_user();
    }
    return t;
}

void
pg_target_free(struct pg_target **t)
{
    if (*t != NULL) {
        list_remove(&(*t)->link);
        libpq.conninfoFree((*t)->options);
        mem_free(&(*t)->user);
        buf_clear(&(*t)->texts);
        mem_free(t);
    }
}

int
pg_target_check(struct str conninfo, struct errmsg *err)
{
    struct pg_target *t = pg_target_new(conninfo, err);
    int rc = t != NULL ? 0 : -1;

    pg_target_free(&t);
    return rc;
}

static const char *
user_of(const struct pg_target *t)
{
    return t->user != NULL ? t->user : value_of(t->options, "user");
}

void
pg_target_print(const struct pg_target *t, struct buf *out)
{
    const char *name = value_of(t->options, "dbname");

    buf_printf(out, "database %s on ", name[0] != '\0' ? name : user_of(t));
    for (size_t i = 0; i < t->count; i++) {
        const struct pg_host *h = &t->hosts[i];

        buf_printf(out, "%s%s:%s", i > 0 ? ", " : "",
                   h->name[0] != '\0' ? h->name : h->address, h->port);
    }
}

static void
add_host(const struct pg_host *h, struct rights *r)
{
    int64_t port;

    if (h->local) {
        r->connect_local = true;
    } else if (str_to_int(str_from(h->port), 1, UINT16_MAX, &port)) {
        rights_connect(r, (uint16_t)port);
    }
}

static void
add_rights(const struct pg_target *t, struct rights *r)
{
    static const char *const files[] = { "sslcert", "sslkey", "sslrootcert",
                                         "sslcrl", "sslcrldir" };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const char *path = value_of(t->options, files[i]);

        if (path[0] != '\0') {
            rights_read(r, str_from(path));
        }
    }
    for (size_t i = 0; i < t->count; i++) {
        add_host(&t->hosts[i], r);
    }
}

void
pg_target_rights_of_all(struct rights *r)
{
    LIST_EACH (node, &all) {
        add_rights(LIST_ITEM(node, struct pg_target, link), r);
    }
}

/* ---- connecting ---- */

struct words {
    const char *keywords[2 * OPTIONS], *values[2 * OPTIONS];
    size_t count;
};

/* What comes later counts. */
static void
say(struct words *w, const char *keyword, const char *value)
{
    if (value != NULL && value[0] != '\0' && w->count < 2 * OPTIONS - 1) {
        w->keywords[w->count] = keyword;
        w->values[w->count++] = value;
    }
}

/* What the conninfo may say otherwise.  A dead peer is noticed though nothing
 * is sent to it, because notices are waited for; a server that cannot be
 * written to is not the right one. */
static void
say_defaults(struct words *w)
{
    say(w, "gssencmode", "disable");
    say(w, "keepalives_idle", "10");
    say(w, "keepalives_interval", "5");
    say(w, "keepalives_count", "3");
    say(w, "target_session_attrs", "read-write");
}

/* libpq looks at its environment for what is not said. */
static void
forget_environment(const PQconninfoOption *o)
{
    for (; o->keyword != NULL; o++) {
        if (o->envvar != NULL) {
            unsetenv(o->envvar);
        }
    }
    unsetenv("PGSERVICEFILE");
    setenv("HOME", NOWHERE, 1);
}

PGconn *
pg_target_connect(const struct pg_target *t, size_t i, const char *address,
                  const char *name)
{
    const struct pg_host *h = &t->hosts[i];
    struct words w = { .count = 0 };

    forget_environment(t->options);
    say_defaults(&w);
    for (const PQconninfoOption *o = t->options; o->keyword != NULL; o++) {
        if (strcmp(o->keyword, "host") != 0 &&
            strcmp(o->keyword, "hostaddr") != 0 &&
            strcmp(o->keyword, "port") != 0) {
            say(&w, o->keyword, o->val);
        }
    }
    say(&w, "user", t->user);
    say(&w, "host", h->name);
    say(&w, "hostaddr", address != NULL ? address : h->address);
    say(&w, "port", h->port);
    say(&w, "client_encoding", "UTF8");
    say(&w, "application_name", name);
    say(&w, "passfile", NOWHERE);
    return libpq.connectStartParams(w.keywords, w.values, 0);
}
