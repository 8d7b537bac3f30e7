/*
 * weir -m VOICE: the options, and the built-in weir.conf that they make.
 *
 * The options are those of the service that clients know, with all their
 * spellings.  Each value is looked at here, so that a mistake names its option;
 * the text that comes of them is checked again as any file is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tts.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalogue.h"
#include "conf/decimal.h"
#include "conf/value.h"
#include "http/filter/host.h"
#include "net/addr.h"

#define DIRECTORIES 8 /* as data_dir of an instance */
#define ADDRESSES 8
#define PORT 5000

enum meaning {
    MODEL,
    SPEAKER,
    HOST,
    PORT_NUMBER,
    DATA_DIR,
    LENGTH_SCALE,
    NOISE_SCALE,
    NOISE_W_SCALE,
    SENTENCE_SILENCE,
    DEBUG_LOG,
    CUDA,
    DOWNLOAD_DIR,
};

static const struct alone_option options[] = {
    { "model", 'm', "VOICE", "the voice of requests that name none", MODEL },
    { "speaker", 's', "SPEAKER", "its variant: a name, or a number", SPEAKER },
    { "host", '\0', "HOST", "where it listens (localhost)", HOST },
    { "port", '\0', "PORT", "and on which port (5000); 0: a free one",
      PORT_NUMBER },
    { "data-dir", '\0', "DIR", "voices beside the system's; may be repeated",
      DATA_DIR },
    { "data_dir", '\0', "DIR", NULL, DATA_DIR },
    { "length-scale", '\0', "NUMBER", "how slowly it speaks (1.0)",
      LENGTH_SCALE },
    { "length_scale", '\0', "NUMBER", NULL, LENGTH_SCALE },
    { "noise-scale", '\0', "NUMBER", "how much the pitch wavers", NOISE_SCALE },
    { "noise_scale", '\0', "NUMBER", NULL, NOISE_SCALE },
    { "noise-w-scale", '\0', "NUMBER", "how much durations differ (0.0)",
      NOISE_W_SCALE },
    { "noise_w_scale", '\0', "NUMBER", NULL, NOISE_W_SCALE },
    { "noise-w", '\0', "NUMBER", NULL, NOISE_W_SCALE },
    { "noise_w", '\0', "NUMBER", NULL, NOISE_W_SCALE },
    { "sentence-silence", '\0', "SECONDS", "silence between sentences (0.0)",
      SENTENCE_SILENCE },
    { "sentence_silence", '\0', "SECONDS", NULL, SENTENCE_SILENCE },
    { "debug", '\0', NULL, "write a log of every step", DEBUG_LOG },
    { "cuda", '\0', NULL, NULL, CUDA },
    { "download-dir", '\0', "DIR", NULL, DOWNLOAD_DIR },
    { "download_dir", '\0', "DIR", NULL, DOWNLOAD_DIR },
    { NULL, '\0', NULL, NULL, 0 },
};

/* All that was asked for. */
struct wish {
    struct str voice, speaker, host;
    int64_t port;
    struct str directories[DIRECTORIES];
    size_t directory_count;
    int64_t length_scale, noise_w_scale; /* millionths */
    int64_t noise_scale;                 /* the same; -1: the voice's own */
    int64_t silence;                     /* ms */
    bool debug;
    char speaker_room[SPEECH_FILE_MAX + 1];
};

/* ---- values ---- */

static int
read_port(const struct alone_given *g, int64_t *out, struct errmsg *err)
{
    char shown[64];

    if (str_to_int(str_from(g->value), 0, 65535, out)) {
        return 0;
    }
    str_escape(shown, sizeof(shown), str_from(g->value));
    return errmsg_set(err,
                      "--%s must be a whole number from 0 to 65535, not \"%s\"",
                      g->option->name, shown);
}

/* A number as Python reads one, between two bounds in millionths. */
static int
read_number(const struct alone_given *g, int64_t min, int64_t max, int64_t *out,
            struct errmsg *err)
{
    char shown[64], *end;
    double n;
    struct buf bounds;

    errno = 0;
    n = strtod(g->value, &end);
    if (end != g->value && *end == '\0' && decimal_of(n, out) && *out >= min &&
        *out <= max) {
        return 0;
    }
    str_escape(shown, sizeof(shown), str_from(g->value));
    buf_init(&bounds, 64);
    decimal_print(min, &bounds);
    buf_add_str(&bounds, STR(" to "));
    decimal_print(max, &bounds);
    errmsg_set(err, "--%s must be a number from %.*s, not \"%s\"",
               g->option->name, STR_ARGS(buf_str(&bounds)), shown);
    buf_clear(&bounds);
    return -1;
}

static int
add_directory(const struct alone_given *g, struct wish *w, struct errmsg *err)
{
    struct str path = str_from(g->value);

    if (w->directory_count == DIRECTORIES) {
        return errmsg_set(err, "--%s: more than %d directories",
                          g->option->name, DIRECTORIES);
    }
    if (catalogue_check_directory(path, err) == -1) {
        return errmsg_prefix(err, "--%s: ", g->option->name);
    }
    w->directories[w->directory_count++] = path;
    return 0;
}

static int
read_text(const struct alone_given *g, struct str *out, struct errmsg *err)
{
    *out = str_from(g->value);
    if (out->len == 0 || out->len > SPEECH_VOICE_MAX) {
        return errmsg_set(err, "--%s must have 1 to %d bytes", g->option->name,
                          SPEECH_VOICE_MAX);
    }
    return 0;
}

static void
warn(const struct alone_given *g, const char *why)
{
    fprintf(stderr, "weir: --%s is ignored: %s\n", g->option->name, why);
}

static int
read_one(const struct alone_given *g, struct wish *w, struct errmsg *err)
{
    int64_t seconds;

    switch ((enum meaning)g->option->what) {
    case MODEL:
        return read_text(g, &w->voice, err);
    case SPEAKER:
        return read_text(g, &w->speaker, err);
    case HOST:
        w->host = str_from(g->value);
        return 0;
    case PORT_NUMBER:
        return read_port(g, &w->port, err);
    case DATA_DIR:
        return add_directory(g, w, err);
    case LENGTH_SCALE:
        return read_number(g, SPEECH_MILLION / 10, 10 * SPEECH_MILLION,
                           &w->length_scale, err);
    case NOISE_SCALE:
        return read_number(g, 0, 10 * SPEECH_MILLION, &w->noise_scale, err);
    case NOISE_W_SCALE:
        return read_number(g, 0, 2 * SPEECH_MILLION, &w->noise_w_scale, err);
    case SENTENCE_SILENCE:
        if (read_number(g, 0, 10 * SPEECH_MILLION, &seconds, err) == -1) {
            return -1;
        }
        w->silence = seconds / 1000;
        return 0;
    case DEBUG_LOG:
        w->debug = true;
        return 0;
    case CUDA:
        warn(g, "no voice here needs a graphics card");
        return 0;
    case DOWNLOAD_DIR:
        warn(g, "weir downloads no voices");
        return 0;
    }
    return 0;
}

/* ---- voices ---- */

/* A number stands for the variant that GET /voices gives it. */
static int
name_speaker(const struct catalogue *c, struct wish *w, struct errmsg *err)
{
    int64_t number;

    if (!str_to_int(w->speaker, 0, INT64_MAX, &number)) {
        return 0;
    }
    struct str name = catalogue_variant_at(c, number);

    if (name.ptr == NULL) {
        return errmsg_set(err, "--speaker must be from 0 to %zu, or a name",
                          catalogue_variants(c));
    }
    str_copy(w->speaker_room, sizeof(w->speaker_room), name);
    w->speaker = str_from(w->speaker_room);
    return 0;
}

static int
check_voices(struct wish *w, struct errmsg *err)
{
    struct catalogue *c =
        catalogue_read(w->directories, w->directory_count, err);

    if (c == NULL) {
        return -1;
    }
    int rc = name_speaker(c, w, err);

    if (rc == 0) {
        rc = tts_check_voice(c, w->voice, w->speaker, err);
    }
    catalogue_free(&c);
    return rc;
}

/* ---- addresses ---- */

struct addresses {
    struct addr list[ADDRESSES];
    size_t count;
};

/* IPv6 may be known to the resolver and still be off. */
static bool
can_listen(const struct addr *a)
{
    struct sockaddr_storage ss;
    socklen_t len = addr_to_socket(a, &ss);
    int fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = fd != -1 && bind(fd, (struct sockaddr *)&ss, len) == 0;

    if (fd != -1) {
        close(fd);
    }
    return can;
}

static void
add_address(struct addresses *all, struct addr a)
{
    a.port = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (addr_eq(&all->list[i], &a)) {
            return;
        }
    }
    if (all->count < ADDRESSES &&
        (all->count == 0 || a.family != AF_INET6 || can_listen(&a))) {
        all->list[all->count++] = a;
    }
}

/* Without the brackets that an address of IPv6 may have. */
static struct str
without_brackets(struct str host)
{
    if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']') {
        return str_first(str_skip(host, 1), host.len - 2);
    }
    return host;
}

static int
find_addresses(struct str host, struct addresses *all, struct errmsg *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL, *a;
    char name[256], shown[256];
    struct addr one;
    int rc;

    all->count = 0;
    if (str_eq_nocase(host, STR("localhost"))) {
        addr_parse_ip(STR("127.0.0.1"), &one);
        add_address(all, one);
    }
    str_copy(name, sizeof(name), without_brackets(host));
    rc = name[0] == '\0' ? EAI_NONAME : getaddrinfo(name, NULL, &hints, &found);
    for (a = rc == 0 ? found : NULL; a != NULL; a = a->ai_next) {
        struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };

        memcpy(&ss, a->ai_addr, a->ai_addrlen);
        addr_from_socket(&one, &ss);
        add_address(all, one);
    }
    if (rc == 0) {
        freeaddrinfo(found);
    }
    if (all->count == 0) {
        str_escape(shown, sizeof(shown), host);
        return errmsg_set(err, "--host \"%s\" has no address: %s", shown,
                          gai_strerror(rc));
    }
    return 0;
}

/* ---- the text ---- */

static void
put_string(struct buf *out, const char *before, struct str s)
{
    static const struct conf_key text = { .name = "", .type = CONF_STRING };

    buf_add_str(out, str_from(before));
    value_print_string(&text, s, out);
}

static void
put_decimal(struct buf *out, const char *key, int64_t millionths)
{
    buf_printf(out, "    %s = ", key);
    decimal_print(millionths, out);
    buf_add_str(out, STR(";\n"));
}

static void
put_instance(struct buf *out, const struct wish *w)
{
    buf_add_str(out, STR("tts = ( {\n    name = \"main\";\n"));
    put_string(out, "    voice = ", w->voice);
    put_string(out, ";\n    speaker = ", w->speaker);
    buf_add_str(out, STR(";\n    data_dir = ["));
    for (size_t i = 0; i < w->directory_count; i++) {
        put_string(out, i == 0 ? " " : ", ", w->directories[i]);
    }
    buf_add_str(out, STR(" ];\n"));
    put_decimal(out, "length_scale", w->length_scale);
    if (w->noise_scale >= 0) {
        put_decimal(out, "noise_scale", w->noise_scale);
    }
    put_decimal(out, "noise_w_scale", w->noise_w_scale);
    buf_printf(out, "    sentence_silence = \"%lldms\";\n} );\n",
               (long long)w->silence);
}

/* Two free ports would be two different ones: then one address is enough.
 * Clients may use the name by which it was told where to listen. */
static void
put_server(struct buf *out, const struct wish *w, struct addresses *all)
{
    char text[ADDR_TEXT];
    struct addr ignored;
    struct errmsg unused;

    buf_add_str(out, STR("http = { servers = ( {\n    listen = ( "));
    for (size_t i = 0; i < all->count && (i == 0 || w->port != 0); i++) {
        all->list[i].port = (uint16_t)w->port;
        put_string(out, i == 0 ? "" : ", ",
                   str_from(addr_text(&all->list[i], text)));
    }
    if (addr_parse_ip(without_brackets(w->host), &ignored) == -1 &&
        http_host_check(w->host, &unused) == 0) {
        put_string(out, " );\n    hosts = ( ", w->host);
    }
    buf_add_str(out, STR(" );\n    locations = ( { path = \"/\"; module = "
                         "\"tts\"; } );\n} ); };\n"));
}

static int
write_conf(const struct alone_line *line, struct buf *out, struct errmsg *err)
{
    struct wish w = {
        .host = STR("localhost"),
        .port = PORT,
        .speaker = STR_NONE,
        .length_scale = SPEECH_MILLION,
        .noise_scale = -1,
    };
    struct addresses all;

    for (size_t i = 0; i < line->count; i++) {
        if (read_one(&line->given[i], &w, err) == -1) {
            return -1;
        }
    }
    if (check_voices(&w, err) == -1 ||
        find_addresses(w.host, &all, err) == -1) {
        return -1;
    }
    buf_add_str(out,
                STR("worker_processes = 1;\nworker_connections = 4096;\n"));
    if (!line->has_prefix) {
        buf_add_str(out, STR("pid = \"\";\ncontrol = { socket = \"\"; };\n"));
    }
    buf_printf(out, "error_log = { file = \"stderr\"; level = \"%s\"; };\n",
               w.debug ? "debug" : "info");
    put_instance(out, &w);
    put_server(out, &w, &all);
    return 0;
}

const struct module_alone tts_alone = {
    .file = "(-m)",
    .options = options,
    .write = write_conf,
};
