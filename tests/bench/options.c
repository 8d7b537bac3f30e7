/*
 * Reads the command line.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "options.h"

#include "common.h"
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELP[] =
    "weir-load publish --url rtmp://HOST:PORT/APP/NAME [--streams N]\n"
    "                  [--bitrate 2500k] [--fps 30] [--gop 2] [--file FLV]\n"
    "                  [--chunk-size 60000]\n"
    "weir-load play    --url URL --players N [--streams M] [--stall PERCENT]\n"
    "                  [--join-rate N] [--warmup S] [--arrival]\n"
    "weir-load idle    --url URL --players N [--join-rate N]\n"
    "weir-load bare    --listen PORT [--mode message|frame|gather]\n"
    "                  [--gather MS] [--submit] [--format rtmp|flv]\n"
    "                  [--bitrate ...]\n"
    "weir-load sockets --url http://HOST:PORT/PATH/socket.io/ --clients N\n"
    "                  [--transport websocket|polling] [--namespace /NAME]\n"
    "                  [--emit EVENT --rate R [--bytes N]] [--event EVENT]\n"
    "                  [--stamp NAME]\n"
    "                  [--mute PERCENT] [--reconnect] [--join-rate N]\n"
    "                  [--warmup S]\n"
    "weir-load watch   --url http://HOST:PORT/PATH.m3u8 --players N\n"
    "                  [--streams M] [--fps 30] [--join-rate N] [--warmup S]\n"
    "                  [--pace MS --part-url URL]\n"
    "Each: [--duration S] [--json] [--control]\n"
    "weir-load -h | --help | -v | --version\n"
    "\n"
    "A \"%d\" in the name stands for the number of the stream, from 0 on.\n"
    "play and idle take rtmp:// and, for HTTP-FLV, http:// (--rtmp and --flv\n"
    "mean the same as --url). \"ready\" is printed when all streams are\n"
    "published or all players play. With --control, the lines \"reset\"\n"
    "(begin to count here) and \"stop\" are read from standard input, and its\n"
    "end is a stop. The result is one line of JSON with --json. --submit: by\n"
    "io_uring, many sends in one system call.\n"
    "\n"
    "sockets are clients of Socket.IO.  The first one sends EVENT (--emit) R\n"
    "times a second, with {n: its number, t: the time}; each counts those\n"
    "(--event) that the server sends to all because of it.  --stamp: the "
    "number\n"
    "in it that is the time (CLOCK_MONOTONIC, ns), \"t\" if it is not given.\n"
    "--mute: so many join and never read.\n"
    "\n"
    "watch follows playlists of HLS and fetches each part (--fps: of the\n"
    "pictures, for the time when a part could end).  With --pace it fetches\n"
    "the URL and the part's URL every so many milliseconds, whatever they\n"
    "say.\n";

enum {
    OPT_STREAMS = 256,
    OPT_PLAYERS,
    OPT_JOIN_RATE,
    OPT_STALL,
    OPT_WARMUP,
    OPT_DURATION,
    OPT_BITRATE,
    OPT_FPS,
    OPT_GOP,
    OPT_FILE,
    OPT_CHUNK_SIZE,
    OPT_LISTEN,
    OPT_MODE,
    OPT_GATHER,
    OPT_SUBMIT,
    OPT_FORMAT,
    OPT_TRANSPORT,
    OPT_NAMESPACE,
    OPT_EVENT,
    OPT_STAMP,
    OPT_EMIT,
    OPT_RATE,
    OPT_BYTES,
    OPT_RECONNECT,
    OPT_PACE,
    OPT_PART_URL,
    OPT_URL,
    OPT_JSON,
    OPT_CONTROL,
    OPT_ARRIVAL,
};

static const struct option OPTIONS[] = {
    { "url", required_argument, NULL, OPT_URL },
    { "pace", required_argument, NULL, OPT_PACE },
    { "part-url", required_argument, NULL, OPT_PART_URL },
    { "rtmp", required_argument, NULL, OPT_URL },
    { "flv", required_argument, NULL, OPT_URL },
    { "streams", required_argument, NULL, OPT_STREAMS },
    { "players", required_argument, NULL, OPT_PLAYERS },
    { "clients", required_argument, NULL, OPT_PLAYERS },
    { "mute", required_argument, NULL, OPT_STALL },
    { "transport", required_argument, NULL, OPT_TRANSPORT },
    { "namespace", required_argument, NULL, OPT_NAMESPACE },
    { "event", required_argument, NULL, OPT_EVENT },
    { "stamp", required_argument, NULL, OPT_STAMP },
    { "emit", required_argument, NULL, OPT_EMIT },
    { "rate", required_argument, NULL, OPT_RATE },
    { "bytes", required_argument, NULL, OPT_BYTES },
    { "reconnect", no_argument, NULL, OPT_RECONNECT },
    { "join-rate", required_argument, NULL, OPT_JOIN_RATE },
    { "stall", required_argument, NULL, OPT_STALL },
    { "arrival", no_argument, NULL, OPT_ARRIVAL },
    { "warmup", required_argument, NULL, OPT_WARMUP },
    { "duration", required_argument, NULL, OPT_DURATION },
    { "bitrate", required_argument, NULL, OPT_BITRATE },
    { "fps", required_argument, NULL, OPT_FPS },
    { "gop", required_argument, NULL, OPT_GOP },
    { "file", required_argument, NULL, OPT_FILE },
    { "chunk-size", required_argument, NULL, OPT_CHUNK_SIZE },
    { "listen", required_argument, NULL, OPT_LISTEN },
    { "mode", required_argument, NULL, OPT_MODE },
    { "gather", required_argument, NULL, OPT_GATHER },
    { "submit", no_argument, NULL, OPT_SUBMIT },
    { "format", required_argument, NULL, OPT_FORMAT },
    { "json", no_argument, NULL, OPT_JSON },
    { "control", no_argument, NULL, OPT_CONTROL },
    { NULL, 0, NULL, 0 },
};

static unsigned
whole(const char *text, unsigned min, unsigned max)
{
    char *end;
    unsigned long v = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || v < min || v > max) {
        fatal("%s: must be a whole number from %u to %u", text, min, max);
    }
    return (unsigned)v;
}

static double
seconds(const char *text)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end != '\0' || !(v >= 0 && v <= 1e6)) {
        fatal("%s: must be a number of seconds", text);
    }
    return v;
}

/* Bits a second, with k or m for thousands or millions. */
static uint64_t
bits(const char *text)
{
    char *end;
    double v = strtod(text, &end);
    double unit = *end == 'k' ? 1e3 : *end == 'm' || *end == 'M' ? 1e6 : 1;

    if (end == text || (unit > 1 ? end[1] : end[0]) != '\0' ||
        !(v * unit >= 1 && v * unit <= 1e9)) {
        fatal("%s: must be a bitrate such as 2500k, at most 1000m", text);
    }
    return (uint64_t)(v * unit);
}

/* The place of a word in a list that NULL ends. */
static unsigned
word(const char *text, const char *const *words, const char *what)
{
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    fatal("%s: is no %s (see --help)", text, what);
}

static const char *const MODES[] = { "publish", "play",  "idle", "bare",
                                     "sockets", "watch", NULL };
static const char *const SENDS[] = { "message", "frame", "gather", NULL };
static const char *const TRANSPORTS[] = { "websocket", "polling", NULL };
static const char *const FORMATS[] = { "rtmp", "flv", NULL };

/* What concerns the load. */
static bool
set_load(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_URL:
        o->url = value;
        return true;
    case OPT_STREAMS:
        o->streams = whole(value, 1, 100000);
        return true;
    case OPT_PLAYERS:
        o->players = whole(value, 1, 1000000);
        return true;
    case OPT_JOIN_RATE:
        o->join_rate = whole(value, 0, 1000000);
        return true;
    case OPT_STALL:
        o->stall = whole(value, 0, 100);
        return true;
    case OPT_ARRIVAL:
        o->arrival = true;
        return true;
    case OPT_WARMUP:
        o->warmup = seconds(value);
        return true;
    case OPT_DURATION:
        o->duration = seconds(value);
        return true;
    case OPT_JSON:
        o->json = true;
        return true;
    case OPT_CONTROL:
        o->control = true;
        return true;
    default:
        return false;
    }
}

/* What concerns the streams and the bare loop. */
static bool
set_stream(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_BITRATE:
        o->bitrate = bits(value);
        return true;
    case OPT_FPS:
        o->fps = whole(value, 1, 240);
        return true;
    case OPT_GOP:
        o->gop = whole(value, 1, 60);
        return true;
    case OPT_FILE:
        o->file = value;
        return true;
    case OPT_CHUNK_SIZE:
        o->chunk_size = whole(value, 128, 16777215);
        return true;
    case OPT_LISTEN:
        o->port = whole(value, 0, 65535);
        return true;
    case OPT_MODE:
        o->send = (enum send_mode)word(value, SENDS, "way of sending");
        return true;
    case OPT_GATHER:
        o->gather = whole(value, 1, 10000);
        return true;
    case OPT_SUBMIT:
        o->submit = true;
        return true;
    case OPT_FORMAT:
        o->flv = word(value, FORMATS, "format") == 1;
        return true;
    default:
        return false;
    }
}

/* What concerns viewers of HLS. */
static bool
set_watch(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_PACE:
        o->pace = seconds(value);
        return true;
    case OPT_PART_URL:
        o->part_url = value;
        return true;
    default:
        return false;
    }
}

/* What concerns clients of Socket.IO. */
static bool
set_sockets(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_TRANSPORT:
        o->polling = word(value, TRANSPORTS, "transport") == 1;
        return true;
    case OPT_NAMESPACE:
        o->space = value;
        return true;
    case OPT_EVENT:
        o->event = value;
        return true;
    case OPT_STAMP:
        o->stamp = value;
        return true;
    case OPT_EMIT:
        o->emit = value;
        return true;
    case OPT_RATE:
        o->rate = seconds(value);
        return true;
    case OPT_BYTES:
        o->bytes = whole(value, 0, 1 << 20);
        return true;
    case OPT_RECONNECT:
        o->reconnect = true;
        return true;
    default:
        return false;
    }
}

static void
check(const struct options *o)
{
    if (o->mode != MODE_BARE && o->url == NULL) {
        fatal("--url is missing");
    }
    if (o->stall > 0 && o->mode != MODE_PLAY && o->mode != MODE_SOCKETS) {
        fatal("--stall is for play, --mute for sockets");
    }
    if (o->arrival && o->mode != MODE_PLAY) {
        fatal("--arrival is for play");
    }
    if (o->rate <= 0 || o->rate > 10000) {
        fatal("--rate: must be more than 0 and at most 10000 a second");
    }
}

void
options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){
        .streams = 1,
        .players = 1,
        .join_rate = 1000,
        .bitrate = 2500000,
        .fps = 30,
        .gop = 2,
        .chunk_size = 60000,
        .gather = 50,
        .space = "/",
        .event = "broadcast-back",
        .stamp = "t",
        .rate = 1,
    };
    if (argc < 2 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        fputs(HELP, argc < 2 ? stderr : stdout);
        exit(argc < 2 ? 2 : 0);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0) {
        printf("weir-load %s\n", WEIR_VERSION);
        exit(0);
    }
    o->mode = (enum mode)word(argv[1], MODES, "mode");
    for (;;) {
        int option = getopt_long(argc - 1, argv + 1, "", OPTIONS, NULL);

        if (option == -1) {
            break;
        }
        if (!set_load(o, option, optarg) && !set_stream(o, option, optarg) &&
            !set_sockets(o, option, optarg) && !set_watch(o, option, optarg)) {
            fputs(HELP, stderr); /* getopt has said why */
            exit(2);
        }
    }
    if (optind < argc - 1) {
        fatal("%s: is not an option", argv[optind + 1]);
    }
    check(o);
}
