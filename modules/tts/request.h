/*
 * The bytes between worker, speaker and weir-speaker: requests, and the answers
 * to them:
 *
 *   worker   -> speaker   struct speech_request   the call tts.say
 *   speaker  -> worker    struct speech_answer    parts, and the last answer
 *   speaker  -> child     struct speech_request   voice and speaker resolved
 *   child    -> speaker   struct speech_record    on the child's own socket
 *
 * All are packed by base/pack.h.  A reader believes none of them: an unpack
 * that returns -1 has found a text, a number or a length that is not allowed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_REQUEST_H
#define MODULES_TTS_REQUEST_H

#include "base/errmsg.h"
#include "base/pack.h"

#include <stdbool.h>
#include <stdint.h>

#define SPEECH_NAME_MAX 64  /* bytes of an instance's name */
#define SPEECH_VOICE_MAX 80 /* of a voice, as a client writes it */
#define SPEECH_FILE_MAX 39  /* of a voice's file, of a variant's */
#define SPEECH_TEXT_MAX \
    ((size_t)1 << 20)           /* of a text, whatever max_text says */
#define SPEECH_MESSAGE_MAX 1024 /* of an error's message */
#define SPEECH_FIELD_MAX 32     /* of the name of a field */
#define SPEECH_TAG_MAX 64       /* of an answer's tag */
#define SPEECH_REQUEST_MAX (SPEECH_TEXT_MAX + 4096) /* packed */
#define SPEECH_ANSWER_MAX 4096                      /* packed */
#define SPEECH_PACKET_MAX 131072 /* a request for a child, packed */

#define SPEECH_MILLION 1000000 /* a scale of 1.0 */

enum speech_format {
    SPEECH_WAV,     /* audio/wav, 16 bit; tag 1 */
    SPEECH_PCM,     /* audio/pcm: the samples alone, little-endian */
    SPEECH_MULAW,   /* audio/wav, 8 bit; tag 7 */
    SPEECH_FLAC,    /* audio/flac */
    SPEECH_OPUS,    /* audio/ogg */
    SPEECH_MP3,     /* audio/mpeg */
    SPEECH_TIMINGS, /* application/json: times of words and sentences */
    SPEECH_FORMATS
};

/* A child's part is whole only if the numbers are within the bounds that
 * weir-speaker itself has; the worker has told the client about each mistake
 * before. */
struct speech_request {
    struct str instance; /* of weir.conf */
    struct str text;     /* UTF-8 without controls but tab and line ends */
    /* A name, "NAME+variant", or empty: the instance's.  Towards a child: the
     * file below lang/ or voices/ ("gmw/en-US"). */
    struct str voice;
    /* A variant, or empty.  Towards a child: the file below voices/!v. */
    struct str speaker;
    int64_t speaker_id;    /* wins over speaker; -1: none; child: not used */
    int64_t length_scale;  /* millionths: 100000 .. 10000000 */
    int64_t noise_scale;   /* millionths: 0 .. 10000000; -1: the voice's own */
    int64_t noise_w_scale; /* millionths: 0 .. 2000000 */
    int64_t pitch;         /* 0 .. 99; -1: the voice's own */
    int64_t range;         /* 0 .. 99; -1: the voice's own */
    int64_t volume;        /* 0 .. 200; -1: the voice's own */
    int64_t sentence_silence; /* ms: 0 .. 10000 */
    bool ssml;                /* text is SSML */
    bool stream;              /* do not wait for the end: always a pipe */
    enum speech_format format;
    int64_t
        sample_rate;   /* Hz: 8000 .. 48000; 0: the voice's own (mulaw: 8000) */
    int64_t buffer;    /* bytes that a whole answer has at most */
    int64_t max_audio; /* ms of sound, then the request fails */
};

/* Appends r. */
void speech_pack_request(struct pack *p, const struct speech_request *r);
/* The texts point into u's bytes.  -1: the bytes make no sense. */
int speech_unpack_request(struct unpack *u, struct speech_request *r);

/* Why there is no answer now (503). */
enum speech_lack {
    SPEECH_LACKS_NOTHING, /* it is no 503 */
    SPEECH_LACKS_QUEUE,   /* too many wait */
    SPEECH_LACKS_ENGINE,  /* weir-speaker is being started */
    SPEECH_LACKS_SPEAKER, /* the role stops, or knows no such instance */
    SPEECH_LACKS_SYSTEM,  /* no memory, no descriptor */
    SPEECH_LACKS_VOICE,   /* the directories have none, or not the default */
    SPEECH_LACKS
};

/* Of a call: status 200 and a descriptor is good, everything else is for
 * http_error().  One answer, the last, when the sound fits the buffer: fd is a
 * sealed memfd of `length` bytes.  Else a part with fd, a pipe, and then the
 * last answer, which says whether the pipe's bytes are whole. */
struct speech_answer {
    int status; /* of HTTP: 200, 400, 404, 413, 500, 503 */
    enum speech_lack lack;
    int64_t length;      /* bytes; -1: not known, fd is a pipe */
    int64_t sample_rate; /* Hz */
    int64_t duration;    /* ms of sound; -1: not known yet */
    int64_t retry_after; /* s; 0: none */
    bool cached;
    bool unlisted; /* what was asked for is not in the list of voices */
    enum speech_format format;
    struct str voice;   /* that speaks: "en-US", "en-US+f3" */
    struct str tag;     /* of a whole answer, for its ETag: letters, digits and
                           '-', the same for the same bytes; empty: none */
    struct str field;   /* of an error: the request's field, or empty */
    struct str message; /* of an error */
};

void speech_pack_answer(struct pack *p, const struct speech_answer *a);
int speech_unpack_answer(struct unpack *u, struct speech_answer *a);

/* The records of a child, in this order: TAKEN, then perhaps LONG, then any
 * number of PAUSED and WANTS, then DONE or FAILED; then it ends.  A child that
 * ends without one of these two has crashed. */
enum speech_record_kind {
    SPEECH_TAKEN,  /* this child has the request: pid, sample_rate */
    SPEECH_LONG,   /* the pipe has the sound, from its first byte */
    SPEECH_PAUSED, /* for 100 ms the pipe was never half empty: bytes */
    SPEECH_WANTS,  /* it is half empty now: waits for a byte, its slot */
    SPEECH_DONE,   /* bytes, samples, first_us */
    SPEECH_FAILED, /* status, field, message */
    SPEECH_RECORDS
};

struct speech_record {
    enum speech_record_kind kind;
    int64_t pid;
    int64_t sample_rate; /* Hz, of the answer */
    int64_t bytes;       /* of the answer; PAUSED, WANTS: so far */
    int64_t samples;     /* of the answer, at sample_rate */
    int64_t first_us;    /* from TAKEN to the first sound */
    int64_t status;      /* of HTTP: 400, 404, 413, 500 */
    struct str field, message;
};

#define SPEECH_RECORD_MAX (SPEECH_MESSAGE_MAX + 256) /* bytes, packed */

void speech_pack_record(struct pack *p, const struct speech_record *r);
int speech_unpack_record(struct unpack *u, struct speech_record *r);

/* ---- the descriptors of weir-speaker ---- */

/* Both are sockets of whole messages (SOCK_SEQPACKET). */
#define SPEECH_CONTROL 3 /* zygote: to and from the speaker */
#define SPEECH_WORK 4    /* requests; each idle child waits for one */
/* Descriptors that come with a request, in this order.  A text that would make
 * the packet longer than SPEECH_PACKET_MAX lies in the file in memory, and the
 * packet has none: a socket takes no packet of any size. */
enum { SPEECH_STATUS, SPEECH_MEMORY, SPEECH_PIPE, SPEECH_FDS };

/* On the control socket, a text each.  From the zygote: "ready RATE" when the
 * library has started and idle children wait; "failed WHY".  To the zygote:
 * "kill PID", one of its children; "voice FILE", which it loads before it forks
 * its next children; "end": it ends its idle children, makes no more, and ends
 * with the last of those that have a request, which "kill" still ends.  When
 * the socket is closed, it does the same. */
#define SPEECH_CONTROL_MAX 1024

#endif
