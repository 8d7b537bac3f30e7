/*
 * Settings, metrics, calls, and the table of the module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tts.h"

#include "app/settings/settings.h"
#include "conf/rows.h"
#include "layer.h"

/* ---- settings ---- */

static const struct conf_key keys[] = {
    ROW(tts_settings, instance, CONF_INSTANCE, .of = "tts",
        .help = "Name of the item of tts that speaks here; the only one if "
                "left out."),
    CONF_END,
};

static const struct conf_key map_keys[] = {
    ROW(tts_voice_map, name, CONF_STRING, .min = 1, .max = 64,
        .help = "Name that a client gives."),
    ROW(tts_voice_map, voice, CONF_STRING, .min = 1, .max = SPEECH_VOICE_MAX,
        .help = "The voice that speaks for it."),
    CONF_END,
};

static const struct conf_key wyoming_keys[] = {
    ROWS_LISTENING(tts_wyoming, listening),
    ROW(tts_wyoming, idle_timeout, CONF_TIME, .min = 100, .max = 86400000,
        .preset = "60s",
        .help = "A client that sends no event, or takes no sound, for so long "
                "is closed."),
    CONF_END,
};

/* -1 */
static const char *const voice_word[] = { "voice", NULL };
static const char *const unknown_words[] = { "refuse", "default", NULL };

static const struct conf_key instance_keys[] = {
    ROW_WHERE(tts_instance),
    ROW(tts_instance, name, CONF_STRING, .min = 1, .max = SPEECH_NAME_MAX,
        .help = "Its name: a layer names it as its instance."),
    ROW(tts_instance, voice, CONF_STRING, .max = SPEECH_VOICE_MAX,
        .preset = "en-us", .help = "The voice of requests that name none."),
    ROW(tts_instance, speaker, CONF_STRING, .max = SPEECH_VOICE_MAX,
        .preset = "", .help = "The variant of requests that name none."),
    ROW(tts_instance, data_dir, CONF_STRINGS, .max = 8, .preset = "",
        .help = "Directories with voices; the first that has a file wins, that "
                "of the system is the last."),
    ROW(tts_instance, children, CONF_INT, .min = 1, .max = 64, .preset = "2",
        .help = "Syntheses that compute at the same time; an address that has "
                "none gets one more."),
    ROW(tts_instance, queue, CONF_INT, .min = 0, .max = 4096, .preset = "64",
        .help = "Requests that wait for one of them, addresses in turn; one "
                "more is refused (503)."),
    ROW(tts_instance, max_paused, CONF_INT, .min = 0, .max = 4096,
        .preset = "256",
        .help = "Syntheses that wait for slow readers; beyond, the slowest is "
                "cut, of the address that has most."),
    ROW(tts_instance, cache, CONF_SIZE, .min = 0, .max = 4294967296,
        .preset = "64M",
        .help = "Memory for answers that were given; 0: none "
                "is kept."),
    ROW(tts_instance, buffer, CONF_SIZE, .min = 65536, .max = 67108864,
        .preset = "1M",
        .help = "An answer up to this size is sent whole, with its length; a "
                "longer one is streamed."),
    ROW(tts_instance, max_text, CONF_SIZE, .min = 16, .max = 1048576,
        .preset = "64K",
        .help = "Longest text; a longer one is refused "
                "(413)."),
    ROW(tts_instance, max_audio, CONF_TIME, .min = 1000, .max = 86400000,
        .preset = "10m", .help = "Longest sound; what is longer breaks off."),
    ROW(tts_instance, timeout, CONF_TIME, .min = 100, .max = 3600000,
        .preset = "60s",
        .help = "Longest synthesis, without the time in which its reader is "
                "waited for."),
    ROW(tts_instance, cpu, CONF_INT, .min = 1, .max = 3600, .preset = "30",
        .help = "Seconds of processor time of a synthesis."),
    ROW(tts_instance, memory, CONF_SIZE, .min = 33554432, .max = 4294967296,
        .preset = "256M", .help = "Addresses that a synthesis may have."),
    ROW(tts_instance, min_rate, CONF_SIZE, .min = 0, .max = 1048576,
        .preset = "0", .help = "Bytes a second that a reader has to take."),
    ROW(tts_instance, unknown_voice, CONF_ENUM, .words = unknown_words,
        .preset = "refuse",
        .help = "A voice that is not there: refuse it (404), or let the "
                "default speak."),
    ROW(tts_instance, length_scale, CONF_DECIMAL, .min = SPEECH_MILLION / 10,
        .max = 10 * SPEECH_MILLION, .preset = "1.0",
        .help = "How slowly a request without length_scale is spoken: 2.0 "
                "takes twice as long."),
    ROW(tts_instance, noise_scale, CONF_DECIMAL, .min = 0,
        .max = 10 * SPEECH_MILLION, .preset = "voice", .words = voice_word,
        .help = "How much the pitch of a request without noise_scale wavers: "
                "0 not at all, \"voice\" as the voice itself says."),
    ROW(tts_instance, noise_w_scale, CONF_DECIMAL, .min = 0,
        .max = 2 * SPEECH_MILLION, .preset = "0.0",
        .help = "How much the durations of words differ in a request without "
                "noise_w_scale."),
    ROW(tts_instance, sentence_silence, CONF_TIME, .min = 0, .max = 10000,
        .preset = "0",
        .help = "Silence between sentences of a request without "
                "sentence_silence."),
    ROW(tts_instance, voice_map, CONF_GROUPS, .keys = map_keys,
        .size = sizeof(struct tts_voice_map), .preset = "", .max = 64,
        .help = "Names of voices of other services."),
    ROW(tts_instance, wyoming, CONF_GROUPS, .keys = wyoming_keys,
        .size = sizeof(struct tts_wyoming), .preset = "", .max = 1,
        .help = "Listens for the protocol Wyoming (Home Assistant)."),
    CONF_END,
};

static const struct conf_key root_keys[] = {
    ROW_AS("tts", tts_root, instances, CONF_GROUPS, .keys = instance_keys,
           .size = sizeof(struct tts_instance), .max = TTS_INSTANCES,
           .preset = "", .named = true,
           .help = "Speakers of text, by name; see weir-tts(7)."),
    CONF_END,
};

/* ---- metrics ---- */

static const char *
outcome_name(unsigned i)
{
    static const char *const names[TTS_OUTCOMES] = {
        [TTS_OK] = "ok",
        [TTS_BAD_REQUEST] = "bad_request",
        [TTS_UNKNOWN_VOICE] = "unknown_voice",
        [TTS_QUEUE_FULL] = "queue_full",
        [TTS_STARTING] = "starting",
        [TTS_NO_RESOURCES] = "no_resources",
        [TTS_NO_VOICES] = "no_voices",
        [TTS_TOO_LONG] = "too_long",
        [TTS_CRASHED] = "crashed",
        [TTS_NO_SPEAKER] = "no_speaker",
        [TTS_CLIENT_GONE] = "client_gone",
    };

    return names[i];
}

static const char *
voice_name(unsigned i)
{
    static const char *const names[TTS_VOICE_CLASSES] = {
        [TTS_VOICE_DEFAULT] = "default",
        [TTS_VOICE_NAMED] = "named",
        [TTS_VOICE_VARIANT] = "variant",
    };

    return names[i];
}

static const char *
end_name(unsigned i)
{
    static const char *const names[TTS_CHILD_ENDS_COUNT] = {
        [TTS_END_CRASHED] = "crashed", [TTS_END_TIMEOUT] = "timeout",
        [TTS_END_SLOW] = "slow",       [TTS_END_PAUSED] = "paused",
        [TTS_END_GONE] = "gone",
    };

    return names[i];
}

static const int64_t first_sound_us[] = { 500,    1000,    2500,   5000,
                                          10000,  25000,   50000,  100000,
                                          250000, 1000000, 5000000 };

struct metric tts_metrics[] = {
    [TTS_REQUESTS] = { .name = "weir_tts_requests_total",
                       .help = "Requests for speech.",
                       .labels = { { "outcome", outcome_name, TTS_OUTCOMES },
                                   { "voice", voice_name,
                                     TTS_VOICE_CLASSES } } },
    [TTS_FIRST_SOUND] = { .name = "weir_tts_first_sound_seconds",
                          .help = "From requests to the first sounds that were "
                                  "made for them.",
                          .type = METRIC_HISTOGRAM,
                          .bounds = first_sound_us,
                          .bound_count = sizeof(first_sound_us) /
                                         sizeof(first_sound_us[0]),
                          .unit = 1000000 },
    [TTS_AUDIO] = { .name = "weir_tts_audio_seconds_total",
                    .help = "Sound that was made.",
                    .unit = 1000 },
    [TTS_CACHE_HITS] = { .name = "weir_tts_cache_hits_total",
                         .help = "Answers that were there already." },
    [TTS_CHILD_ENDS] = { .name = "weir_tts_child_ends_total",
                         .help = "Children that crashed or were killed.",
                         .labels = { { "reason", end_name,
                                       TTS_CHILD_ENDS_COUNT } } },
    [TTS_METRICS] = METRIC_END,
};

static enum tts_outcome
outcome_of_lack(enum speech_lack lack)
{
    switch (lack) {
    case SPEECH_LACKS_QUEUE:
        return TTS_QUEUE_FULL;
    case SPEECH_LACKS_ENGINE:
        return TTS_STARTING;
    case SPEECH_LACKS_SYSTEM:
        return TTS_NO_RESOURCES;
    case SPEECH_LACKS_VOICE:
        return TTS_NO_VOICES;
    case SPEECH_LACKS_NOTHING:
    case SPEECH_LACKS_SPEAKER:
    case SPEECH_LACKS:
        break;
    }
    return TTS_NO_SPEAKER;
}

enum tts_outcome
tts_outcome_of(int status, enum speech_lack lack)
{
    switch (status) {
    case 200:
        return TTS_OK;
    case 400:
        return TTS_BAD_REQUEST;
    case 404:
        return TTS_UNKNOWN_VOICE;
    case 413:
        return TTS_TOO_LONG;
    case 503:
        return outcome_of_lack(lack);
    default:
        return TTS_CRASHED;
    }
}

void
tts_count_request(enum tts_outcome outcome, enum tts_voice_class voice)
{
    const struct metric *m = &tts_metrics[TTS_REQUESTS];

    metric_add(m, metric_at(m, outcome, voice, 0), 1);
}

/* ---- calls ---- */

struct rpc_method tts_methods[] = {
    [TTS_SAY] = { .name = "tts.say",
                  .role = "speaker",
                  .caller = BUS_ANYBODY,
                  .request_max = SPEECH_REQUEST_MAX,
                  .answer_max = SPEECH_ANSWER_MAX,
                  .open_max = RPC_OPEN_MAX },
    [TTS_VOICES] = { .name = "tts.voices",
                     .role = "speaker",
                     .caller = BUS_ANYBODY,
                     .request_max = TTS_VOICES_MAX,
                     .answer_max = SPEECH_ANSWER_MAX,
                     .open_max = 1024 },
    [TTS_DESCRIBE] = { .name = "tts.describe",
                       .role = "speaker",
                       .caller = BUS_ANYBODY,
                       .request_max = SPEECH_NAME_MAX,
                       .answer_max = SPEECH_ANSWER_MAX,
                       .open_max = 1024 },
    [TTS_SHOW] = { .name = "tts.show",
                   .role = "speaker",
                   .caller = BUS_MASTER,
                   .answer_max = 32000,
                   .open_max = 64 },
    { .name = NULL },
};

struct rpc_call *
tts_say(const struct rpc_options *o, const struct tally_holder *client,
        const struct speech_request *ask, struct errmsg *err)
{
    struct rpc_call *made = NULL;
    struct buf b;
    struct pack p = { .to = &b };

    buf_init(&b, SPEECH_REQUEST_MAX);
    share_pack(&p, client);
    speech_pack_request(&p, ask);
    if (p.full) {
        errmsg_set(err, "the request does not fit a message");
    } else {
        made = rpc_call(&tts_methods[TTS_SAY], o, buf_data(&b), buf_len(&b), -1,
                        err);
    }
    buf_clear(&b);
    return made;
}

#define GRACE_MS 5000 /* beside timeout: in the queue, and computing */

int64_t
tts_wait_ms(const struct tts_instance *i)
{
    int64_t ms = 2 * i->timeout + GRACE_MS;

    return ms < RPC_WAIT_MAX ? ms : RPC_WAIT_MAX;
}

const struct module tts_module = {
    .name = "tts",
    .about = "speech: text to sound with the voices of espeak-ng",
    .keys = keys,
    .settings_size = sizeof(struct tts_settings),
    .root = { root_keys, sizeof(struct tts_root) },
    .check_there = tts_check_there,
    .alone = &tts_alone,
    .roles = tts_roles,
    .verbs = tts_verbs,
    .start = tts_start,
    .stop = tts_stop,
    .routes = tts_routes,
    .servers = &tts_servers,
    .methods = tts_methods,
    .error_body = layer_error_body,
    .metrics = tts_metrics,
    .pools = tts_pools,
};

const struct tts_root *
tts_root_of(const struct settings *s)
{
    return settings_of_module(s, &tts_module);
}

/* ---- being wanted ---- */

static void
look_at_layer(void *arg, const struct conf_extra *layer)
{
    bool *found = arg;

    *found |= layer->what == &tts_module;
}

bool
tts_wanted(const struct settings *s)
{
    const struct conf_groups *all = &tts_root_of(s)->instances;
    const struct tts_instance *items = all->items;
    bool found = false;

    for (size_t i = 0; i < all->count; i++) {
        found |= items[i].wyoming.count > 0;
    }
    settings_each_layer(s, look_at_layer, &found);
    return found;
}
