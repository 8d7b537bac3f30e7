/*
 * Speech: text to sound over HTTP, with the voices of espeak-ng.
 *
 *   tts.c         settings, metrics, calls, the table of the module
 *   request.[ch]  the bytes between worker, speaker and weir-speaker
 *   ask.[ch]      worker: a client's JSON or query to a struct speech_request
 *   layer.c       worker: routes, and answers from a memfd or a pipe
 *   voice_list.[ch]   worker: the list of voices, kept
 *   pipe_reader.[ch]  worker: a synthesis's pipe, no faster than its taker
 *   openai.c      worker: POST /v1/audio/speech and its lists
 *   wyoming*.c    worker: the protocol of Home Assistant, on its own listener
 *   page*.c       worker: the page for people, and its three texts
 *   speaker.c     role "speaker": instances, the queue, slots of CPU
 *   engine.[ch]   role: weir-speaker: the zygote, its children
 *   answer_cache.[ch]  role: answers that were given, as sealed memfds
 *   catalogue.[ch]  voices of data directories, their names, the nearest ones;
 *                 with catalogue_*.c and voice_file.[ch]
 *   alone.c       master: weir -m VOICE, the built-in weir.conf
 *   check.c       master: whether the voices that weir.conf names are there
 *   verbs.c       master: weirctl show speech
 *   weir-speaker/ the program: it alone is linked with libespeak-ng
 *
 * A request walks from a worker to the speaker, which knows the voices and the
 * cache, and from there to a child of weir-speaker, which computes the sound.
 * The sound comes back as a sealed memfd (it fits the buffer) or through a pipe
 * that the worker reads itself.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_TTS_H
#define MODULES_TTS_TTS_H

#include "app/control/verb.h"
#include "app/module.h"
#include "app/settings/servers.h"
#include "http/http.h"
#include "net/share.h"
#include "proc/metric.h"
#include "proc/rpc.h"
#include "request.h"

#define TTS_INSTANCES 16 /* at most */

/* ---- tts.c ---- */

struct tts_instance { /* an item of "tts" at the root of weir.conf */
    struct conf_where where;
    struct str name;
    struct str voice;             /* of requests that name none */
    struct conf_strings data_dir; /* the first that has a file wins; Debian's
                                     is the last */
    int64_t children;             /* syntheses that run at once */
    int64_t queue;                /* requests that wait for one */
    int64_t max_paused;           /* children that wait for their readers */
    int64_t cache;                /* bytes of answers that are kept */
    int64_t buffer;               /* bytes of an answer with a known length */
    int64_t max_text;             /* bytes */
    int64_t max_audio;            /* ms of sound */
    int64_t timeout;              /* ms from taken to done, without the time in
                                     which the reader is waited for */
    int64_t cpu;                  /* s of processor time of a request */
    int64_t memory;               /* bytes of addresses of a child */
    int64_t min_rate;             /* bytes a second that a reader takes */
    int unknown_voice;            /* enum tts_unknown */
    struct str speaker;           /* variant of requests that name none */
    int64_t length_scale;         /* millionths; defaults of requests */
    int64_t noise_scale;          /* millionths; -1: the voice's own */
    int64_t noise_w_scale;        /* millionths */
    int64_t sentence_silence;     /* ms */
    struct conf_groups voice_map; /* struct tts_voice_map */
    struct conf_groups wyoming;   /* struct tts_wyoming: none or one */
};

enum tts_unknown { TTS_UNKNOWN_REFUSE, TTS_UNKNOWN_DEFAULT };

struct tts_voice_map { /* a name of another API, and the voice for it */
    struct str name, voice;
};

struct tts_wyoming {
    struct listening listening;
    int64_t idle_timeout; /* ms */
};

struct tts_root {
    struct conf_groups instances; /* struct tts_instance */
};

struct tts_settings {              /* of a layer */
    struct conf_instance instance; /* struct tts_instance */
};

const struct tts_root *tts_root_of(const struct settings *s);
/* Whether a layer of s, or a Wyoming listener, wants the speaker. */
bool tts_wanted(const struct settings *s);

enum tts_metric {
    TTS_REQUESTS,    /* by outcome and class of voice; counted by workers, all
                        else by the speaker */
    TTS_FIRST_SOUND, /* seconds from a request to its first sound */
    TTS_AUDIO,       /* seconds of sound that were made */
    TTS_CACHE_HITS,
    TTS_CHILD_ENDS, /* children killed or crashed, by reason */
    TTS_METRICS
};
enum tts_outcome {
    TTS_OK,
    TTS_BAD_REQUEST,
    TTS_UNKNOWN_VOICE,
    TTS_QUEUE_FULL,
    TTS_STARTING,
    TTS_NO_RESOURCES,
    TTS_NO_VOICES,
    TTS_TOO_LONG,
    TTS_CRASHED,
    TTS_NO_SPEAKER,
    TTS_CLIENT_GONE,
    TTS_OUTCOMES
};
enum tts_voice_class {
    TTS_VOICE_DEFAULT, /* the request names none */
    TTS_VOICE_NAMED,
    TTS_VOICE_VARIANT, /* it names a variant, perhaps of the default voice */
    TTS_VOICE_CLASSES
};
enum tts_child_end {
    TTS_END_CRASHED, /* by itself */
    TTS_END_TIMEOUT, /* killed: too long */
    TTS_END_SLOW,    /* killed: its reader was too slow */
    TTS_END_PAUSED,  /* killed: more than max_paused */
    TTS_END_GONE,    /* killed: nobody listens any more */
    TTS_CHILD_ENDS_COUNT
};
extern struct metric tts_metrics[];
/* Of an answer of the speaker. */
enum tts_outcome tts_outcome_of(int status, enum speech_lack lack);
/* A worker: one more request that came to its end. */
void tts_count_request(enum tts_outcome outcome, enum tts_voice_class voice);

/* Pools of the speaker that clients share. */
enum tts_pool {
    TTS_POOL_QUEUE,     /* requests that wait, run or pause */
    TTS_POOL_FOLLOWERS, /* those that wait for the answer of an equal one */
    TTS_POOLS
};
#define TTS_FOLLOWERS 1024
extern struct tally_pool tts_pools[]; /* job_share.c */

/* ---- calls: workers and the master ask, the speaker answers ---- */

enum {
    TTS_SAY,      /* the client (net/share.h), speech_request ->
                     speech_answer, see request.h */
    TTS_VOICES,   /* instance's name, the tag of the list that the caller has
                     or "", whether it waits for another one -> speech_answer
                     with the JSON object of GET /voices as a sealed memfd, or
                     304: there is no other one */
    TTS_DESCRIBE, /* the same with the data of Wyoming's "info", see wyoming.h
                   */
    TTS_SHOW,     /* the master's: nothing -> packed, see verbs.c */
};
extern struct rpc_method tts_methods[];
/* NULL with err: a request of TTS_SAY that could not be sent. */
struct rpc_call *tts_say(const struct rpc_options *o,
                         const struct tally_holder *client,
                         const struct speech_request *ask, struct errmsg *err);
/* ms that TTS_SAY is waited for: for its first answer, and for the end of one
 * whose reader takes nothing.  As long as sound is taken it is put off. */
int64_t tts_wait_ms(const struct tts_instance *i);
#define TTS_VOICES_MAX (SPEECH_NAME_MAX + SPEECH_TAG_MAX + 2 * PACK_TEXT + 1)

/* ---- the others ---- */

struct catalogue;                           /* catalogue.h */
extern const struct module_alone tts_alone; /* alone.c */
/* check.c: the voices and variants that an instance names.  -1 with err, which
 * has the nearest names. */
void tts_check_there(const struct settings *s, FILE *out);
/* The speaker: the same, with the first mistake.  -1 with err. */
int tts_check_voices(const struct tts_root *root, struct errmsg *err);
int tts_check_voice(const struct catalogue *c, struct str voice,
                    struct str speaker, struct errmsg *err);

extern const struct http_route tts_routes[]; /* layer.c */
int tts_start(const struct module_layer *layer, void **state,
              const struct http_route **routes, struct errmsg *err);
void tts_stop(void *state);
extern const struct role tts_roles[];           /* speaker.c */
extern const struct control_verb tts_verbs[];   /* verbs.c */
extern const struct module_servers tts_servers; /* wyoming.c */
/* page.c: GET / for a browser, GET /_page.js, GET /_page.css */
http_handler tts_on_page, tts_on_page_script, tts_on_page_style;
http_handler tts_on_openai, tts_on_openai_models, tts_on_openai_voices;

#endif
