/*
 * The command line of weir-load.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum mode {
    MODE_PUBLISH,
    MODE_PLAY,
    MODE_IDLE,
    MODE_BARE,
    MODE_SOCKETS,
    MODE_WATCH,
};

/* When the bare loop sends. */
enum send_mode {
    SEND_MESSAGE, /* each message at once */
    SEND_FRAME,   /* with each video message; audio waits for it */
    SEND_GATHER,  /* every gather milliseconds */
};

struct options {
    enum mode mode;
    const char *url;
    unsigned streams; /* how many names "%d" in the URL stands for */
    unsigned players;
    unsigned join_rate; /* connections opened a second; 0: all at once */
    unsigned stall;     /* percent of the players that stop reading */
    bool arrival;       /* a message has come when the system has it */
    double warmup;      /* seconds after all joined that do not count */
    double duration;    /* seconds that count; 0: until told to stop */
    uint64_t bitrate;   /* bits a second, audio and video */
    unsigned fps;
    unsigned gop; /* seconds from key frame to key frame */
    const char *file;
    unsigned chunk_size;
    unsigned port; /* the bare loop's; 0: any */
    enum send_mode send;
    unsigned gather; /* ms */
    bool submit;     /* many sends in one system call */
    bool flv;        /* the bare loop speaks HTTP-FLV */
    /* Of clients of Socket.IO, which are players here. */
    const char *space; /* the namespace */
    const char *event; /* that is counted */
    const char *stamp; /* the number in it that is the time */
    const char *emit;  /* that the first client sends; NULL: none */
    double rate;       /* of these, a second */
    unsigned bytes;    /* added to each */
    bool polling;
    bool reconnect;
    bool json;
    /* Of viewers of HLS. */
    double pace;          /* ms; they fetch at it; 0: they follow playlists */
    const char *part_url; /* of parts, where they are paced */
    bool control;         /* obey standard input */
};

/* Fills o, or prints what is wrong or the help and ends the program. */
void options_parse(struct options *o, int argc, char **argv);

#endif
