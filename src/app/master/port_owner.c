/*
 * Finds the process that listens on a port, by /proc.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/master/trial.h"

#define LISTENS 0x0a /* state of a socket in /proc/net/tcp */
#define SOCKETS_MAX 64
#define NAME_BYTES 32

/* The sockets that listen on an address, or on one that overlaps it. */
struct sockets {
    char links[SOCKETS_MAX][32]; /* "socket:[123]" */
    size_t count;
};

/* ---- /proc/net/tcp ---- */

/* Whether both stand for some same address; text is that of the table: eight
 * digits for each 32 bits, in this machine's order. */
static bool
overlaps(const struct addr_listen *where, const char *text, bool ip6)
{
    uint32_t v4 = 0;

    if (where->any || strspn(text, "0") == strlen(text)) {
        return true; /* IPv6's may take IPv4 too */
    }
    if (ip6 != (where->addr.family == AF_INET6)) {
        return false;
    }
    if (ip6) {
        return true; /* told apart by bind() alone */
    }
    memcpy(&v4, where->addr.ip, sizeof(v4));
    return strtoul(text, NULL, 16) == v4 || v4 == 0;
}

static void
read_line(const char *line, bool ip6, const struct addr_listen *where,
          struct sockets *found)
{
    char address[33];
    unsigned port, state;
    unsigned long inode;

    if (sscanf(line,
               " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*u %*u %lu",
               address, &port, &state, &inode) == 4 &&
        state == LISTENS && port == where->addr.port &&
        found->count < SOCKETS_MAX && overlaps(where, address, ip6)) {
        snprintf(found->links[found->count++], sizeof(found->links[0]),
                 "socket:[%lu]", inode);
    }
}

static void
read_table(const char *path, bool ip6, const struct addr_listen *where,
           struct sockets *found)
{
    FILE *f = fopen(path, "re");
    char line[512];

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        read_line(line, ip6, where, found);
    }
    if (f != NULL) {
        fclose(f);
    }
}

/* A unix socket is bound by a temporary name (net/listen.c). */
static void
read_unix(const struct addr_listen *where, struct sockets *found)
{
    FILE *f = fopen("/proc/net/unix", "re");
    char line[512], path[200], name[200];
    unsigned long inode;

    snprintf(name, sizeof(name), "%.*s.new", STR_ARGS(where->path));
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %199s", &inode, path) ==
                2 &&
            strcmp(path, name) == 0 && found->count < SOCKETS_MAX) {
            snprintf(found->links[found->count++], sizeof(found->links[0]),
                     "socket:[%lu]", inode);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

/* ---- /proc/PID/fd ---- */

/* Takes out of the list what that process has open; whether it had any. */
static bool
take_out(const char *pid, struct sockets *s)
{
    char path[300], link[64];
    struct dirent *e;
    size_t before = s->count;

    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    DIR *dir = opendir(path);

    while (dir != NULL && s->count > 0 && (e = readdir(dir)) != NULL) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

        link[n > 0 ? n : 0] = '\0';
        for (size_t i = 0; i < s->count; i++) {
            if (strcmp(link, s->links[i]) == 0) {
                memmove(s->links[i], s->links[--s->count], sizeof(s->links[0]));
                break;
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return s->count < before;
}

static void
tell(const char *pid, struct errmsg *err)
{
    char path[64], name[NAME_BYTES] = "";

    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    FILE *f = fopen(path, "re");

    if (f != NULL && fgets(name, sizeof(name), f) != NULL) {
        name[strcspn(name, "\n")] = '\0';
    }
    if (f != NULL) {
        fclose(f);
    }
    errmsg_set(err, "in use by another program (%s, pid %.16s)", name, pid);
}

/* Its parent; -1: it is gone. */
static pid_t
parent_of(const char *pid)
{
    char path[64];
    int parent = -1;

    snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
    FILE *f = fopen(path, "re");

    /* The name may hold anything but is no number of weir's. */
    if (f != NULL && fscanf(f, "%*d %*[^)]) %*c %d", &parent) != 1) {
        parent = -1;
    }
    if (f != NULL) {
        fclose(f);
    }
    return parent;
}

/* Finds a process that has one of them and is not of that weir; false: there is
 * none. */
static bool
find_owner(struct sockets *s, pid_t weir, struct errmsg *err)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    bool found = false;

    while (dir != NULL && !found && (e = readdir(dir)) != NULL) {
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
            take_out(e->d_name, s) && parent_of(e->d_name) != weir) {
            tell(e->d_name, err);
            found = true;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

/* Those of the weir itself are taken out. */
static void
read_sockets(const struct addr_listen *where, pid_t weir, struct sockets *s)
{
    char pid[16];

    s->count = 0;
    if (where->addr.family == AF_UNIX) {
        read_unix(where, s);
    } else {
        read_table("/proc/net/tcp", false, where, s);
        read_table("/proc/net/tcp6", true, where, s);
    }
    snprintf(pid, sizeof(pid), "%d", (int)weir);
    if (weir != -1 && take_out(pid, s) && where->addr.family == AF_UNIX) {
        s->count = 0; /* others have it by other paths */
    }
}

const char *
trial_ask_system(void *arg, const struct addr_listen *where, struct errmsg *err)
{
    pid_t weir = *(const pid_t *)arg;
    struct sockets s;

    read_sockets(where, weir, &s);
    if (s.count == 0) {
        return NULL;
    }
    if (find_owner(&s, weir, err)) {
        return err->text;
    }
    read_sockets(where, weir, &s); /* they may be gone meanwhile */
    errmsg_set(err, "in use by another program");
    return s.count > 0 ? err->text : NULL;
}
