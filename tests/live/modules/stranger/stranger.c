/*
 * GET /stranger/HOW: what a worker that was taken over would do to the others,
 * from inside of its sandbox, for tests.  The answer is "done", or the name of
 * the errno by which it was kept from it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/module.h"
#include "base/log.h"
#include "live/arena.h"
#include "live/stream.h"
#include "net/tls_ticket.h"
#include "proc/bus.h"
#include "proc/slot.h"
#include "store/bus.h"

#define REGIONS 32
#define DESCRIPTORS 4096

/* Memory that all share; found before the sandbox hides /proc. */
static struct region {
    char name[32];
    uint8_t *at;
    size_t size;
} regions[REGIONS];
static size_t region_count;

static void
find_regions(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    while (maps != NULL && region_count < REGIONS &&
           fgets(line, sizeof(line), maps) != NULL) {
        struct region *r = &regions[region_count];
        unsigned long from, to;
        const char *name = strstr(line, "/memfd:");

        if (name != NULL && sscanf(line, "%lx-%lx", &from, &to) == 2) {
            r->at = (uint8_t *)from;
            r->size = to - from;
            snprintf(r->name, sizeof(r->name), "%.*s",
                     (int)strcspn(name + 7, "("), name + 7);
            r->name[strcspn(r->name, "\n")] = '\0';
            region_count++;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

static struct region *
find_region(const char *name)
{
    for (size_t i = 0; i < region_count; i++) {
        if (strncmp(regions[i].name, name, strlen(name)) == 0) {
            return &regions[i];
        }
    }
    return NULL;
}

static int
refusal(long rc)
{
    return rc == -1 ? errno : 0;
}

/* ---- words of the arena ---- */

static int
wrong_segments(void)
{
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        struct stream *s = &arena.streams[i];

        atomic_store(&s->media[atomic_load(&s->media_first) % MEDIA_RING],
                     0xfffffff0);
        atomic_store(&s->index[atomic_load(&s->index_first) % INDEX_RING],
                     0x7fffffff);
    }
    return 0;
}

static int
wrong_ends(void)
{
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        atomic_store(&arena.streams[i].media_end, UINT64_C(1) << 40);
        atomic_store(&arena.streams[i].index_end, UINT64_MAX);
    }
    return 0;
}

static int
wrong_names(void)
{
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        atomic_store(&arena.streams[i].name_len, 0x7fffffff);
    }
    return 0;
}

static int
wrong_times(void)
{
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        atomic_store(&arena.streams[i].hold_ms, INT64_MAX);
        atomic_store(&arena.streams[i].last_arrived_ms, INT64_MIN);
        atomic_store(&arena.streams[i].created_ms, INT64_MIN);
    }
    atomic_store(&arena.head->session_end, UINT32_MAX);
    return 0;
}

/* Everything but what would stop this worker before it has answered. */
static int
rubbish_everywhere(void)
{
    static const char *const names[] = { "weir slots",      "weir metrics ",
                                         "weir events",     "weir refusals",
                                         "weir last words", "weir logs",
                                         "weir-pace",       "weir-census",
                                         "weir-exceptions", "relays" };
    size_t streams = arena.stream_count * sizeof(struct stream);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct region *r = find_region(names[i]);

        if (r != NULL) {
            memset(r->at, 0xff - (int)i * 17, r->size);
        }
    }
    memset((void *)arena.streams, 0xff, streams < 1 << 20 ? streams : 1 << 20);
    memset((void *)arena.sessions, 0xff, 1 << 16);
    return 0;
}

static int
last_words_without_end(void)
{
    struct region *r = find_region("weir last words");

    memset(r->at, 0x7f, r->size);
    _exit(1);
}

/* ---- what is the master's ---- */

static int
write_a_card(void)
{
    *(volatile uint32_t *)find_region("weir cards")->at = UINT32_MAX;
    return 0;
}

static int
make_cards_writable(void)
{
    struct region *r = find_region("weir cards");

    return refusal(mprotect(r->at, r->size, PROT_READ | PROT_WRITE));
}

static int
make_keys_writable(void)
{
    uintptr_t at = (uintptr_t)tls_ticket_newest() & ~(uintptr_t)4095;

    return refusal(mprotect((void *)at, 4096, PROT_READ | PROT_WRITE));
}

/* A descriptor of memory that all share. */
static int
find_descriptor(void)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        int seals = fcntl(fd, F_GET_SEALS);

        if (seals != -1 && (seals & F_SEAL_GROW) != 0) {
            return fd;
        }
    }
    errno = ENOENT;
    return -1;
}

static int
keep_a_descriptor(void)
{
    return refusal(find_descriptor());
}

static int
make_a_file_shorter(void)
{
    int fd = memfd_create("x", MFD_CLOEXEC);
    int said = refusal(ftruncate(fd, 4096));

    close(fd);
    return said;
}

/* ---- sockets and eventfds that all share ---- */

static int
forge_messages(void)
{
    int level = LOG_DEBUG;

    for (uint32_t i = 0; i < slots_end(); i++) {
        for (int n = 0; n < 500; n++) {
            bus_send(i, BUS_LOG_LEVEL, &level, sizeof(level), -1);
        }
        bus_send(i, BUS_SERVE, NULL, 0, -1);
        bus_send(i, BUS_SETTINGS, "x", 1, -1);
        bus_send(i, BUS_STORE_ANSWER, "x", 1, -1);
        bus_send(i, BUS_STORE_HELLO, NULL, 0, -1);
        bus_send(i, BUS_TYPES - 1, "x", 1, -1);
    }
    return 0;
}

/* 64 MB each, for the master to read. */
static int
send_much(void)
{
    char *much = calloc(64, 1 << 20);

    for (int i = 0; much != NULL && i < 8; i++) {
        bus_send(0, BUS_FAILED, much, (size_t)64 << 20, -1);
    }
    free(much);
    return 0;
}

static int
shut_mailboxes_down(void)
{
    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        socklen_t size = sizeof(int);
        int type;

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
            type == SOCK_SEQPACKET) {
            shutdown(fd, SHUT_RDWR);
        }
    }
    return 0;
}

static int
make_the_master_wait(void)
{
    eventfd_t count;
    int rc = fcntl(slot_eventfd(0), F_SETFL, 0);
    int said = refusal(rc);

    eventfd_read(slot_eventfd(0), &count);
    return said;
}

/* ---- asking ---- */

static const struct way {
    const char *name;
    int (*go)(void);
} ways[] = {
    { "segments", wrong_segments },
    { "ends", wrong_ends },
    { "names", wrong_names },
    { "times", wrong_times },
    { "rubbish", rubbish_everywhere },
    { "words", last_words_without_end },
    { "card", write_a_card },
    { "writable-cards", make_cards_writable },
    { "writable-keys", make_keys_writable },
    { "descriptor", keep_a_descriptor },
    { "ftruncate", make_a_file_shorter },
    { "forge", forge_messages },
    { "much", send_much },
    { "shutdown", shut_mailboxes_down },
    { "wait", make_the_master_wait },
};

static enum http_result
on_stranger(struct http_request *r, void *state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (str_ends(r->path, str_from(ways[i].name))) {
            int said = ways[i].go();

            return http_reply(
                r, 200, "text/plain",
                str_from(said != 0 ? strerrorname_np(said) : "done"));
        }
    }
    return http_reply(r, 404, NULL, STR_NONE);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    (void)layer;
    (void)state;
    (void)r;
    (void)err;
    find_regions();
    return 0;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_stranger },
    { .path = NULL },
};

const struct module stranger_module = {
    .name = "stranger",
    .about = "does what a worker in a stranger's hands would, for tests",
    .start = start,
    .routes = routes,
};
