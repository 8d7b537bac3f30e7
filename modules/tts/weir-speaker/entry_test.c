/*
 * Requests that were written to hurt, through what a child does with one: its
 * bytes, its voice, its text, its sound and the encoder.
 *
 *   entry [REQUESTS [SEED [FIRST]]]   default: 1500 requests, from the first
 *
 * It fails when it has made fewer; WEIR_SECONDS in the environment is when it
 * gives up.
 *
 * A process makes 1000 of them, one after the other, so that what one leaves
 * behind meets the next.  One that crashes or takes 30 s is told with its seed,
 * and the rest goes on in a new process.
 *
 * libespeak-ng has faults of its own: an SSML text that changes the voice in
 * the midst of another script may crash it, which costs a child.  The innermost
 * function of a crash that is not of a shared library says whose it is: those
 * of the library, which has no lines of source, are counted apart, and may be
 * few.  Without sanitizers there is no such report, and what counts is whether
 * the library was at work.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "encoder.h"
#include "sound_help.h"

#define BATCH 1000   /* requests of a process */
#define TEXT_MAX 160 /* bytes of most texts */
#define LONG_TEXT 20000
#define LIBRARY 77 /* status of a process that the library has crashed */
#define NOBODY 65534

static struct {
    long begun; /* requests, of all processes */
    long spoken, too_long, refused, nonsense;
    long ssml, variants, controls, breaks, longs; /* kinds of requests */
    bool speaking;         /* and no samples are taken just now */
    int64_t samples, most; /* of a request: made, allowed */
} * seen;                  /* shared with the processes */

static uint64_t state;
static long crashes, library_crashes;

static uint32_t
below(uint32_t limit)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;

    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ (z >> 31)) % limit);
}

/* ---- requests ---- */

static const char *const pieces[] = {
    "hello ",
    "world. ",
    "one, two; three: ",
    "1234567890123456789 ",
    "3.14 ",
    "...",
    "?!",
    "\n\n",
    "\t",
    "-",
    "(",
    ")",
    "\"",
    "[[h@l'oU]]",
    "[[",
    "]]",
    "é",
    "中文字",
    "Привет ",
    "नमस्ते ",
    "مرحبا ",
    "😀",
    "\xef\xbf\xbf",
    "\xe2\x80\x8d",
    "\xc2\xa0",
    "\xf3\xa0\x80\x81",
    "\xee\x80\xbc",
    "\x01",
    "\x01Vgmw/de ",
    "\x01V../../../etc/passwd ",
    "\x01"
    "9999S",
    "\x01"
    "5M",
    "\x01"
    "77U",
    "\x01"
    "Babcdefghij ",
    "\x01+5Y",
    "\x02",
    "\x1b",
    "&#1;",
    "&#x1;",
    "&#1;V../../etc/passwd ",
    "&#4294967297;",
    "&#1#;",
    "&#x110000;",
    "&#-5;",
    "&lt;",
    "&amp;",
    "&quot",
    "&nosuchentityofthisname;",
    "<",
    ">",
    "/>",
    "</",
    "<!--",
    "-->",
    "<?xml",
    "<![CDATA[",
    "]]>",
    "<speak>",
    "</speak>",
    "<speak version=\"1.0\" xml:lang=\"de\">",
    "<voice name=\"de\">",
    "<voice name=\"../../../../etc/passwd\">",
    "<voice name=\"english-mb-en1\">",
    "<voice name=\"en-mb1\">",
    "<voice name=\"mb/mb-en1\">",
    "<voice "
    "name=\"en+abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdef\">",
    "<voice xml:lang=\"fr\" variant=\"9999999999\">",
    "<voice gender=\"female\" age=\"6\" variant=\"3\">",
    "<voice xml:lang=\"",
    "</voice>",
    "<p>",
    "</p>",
    "<s xml:lang=\"hi\">",
    "</s>",
    "<prosody rate=\"x-fast\" pitch=\"-90%\" volume=\"999\">",
    "<prosody rate=\"-99999\" range=\"x-high\">",
    "<prosody rate=\"1e99\">",
    "</prosody>",
    "<break time=\"3600s\"/>",
    "<break time=\"99999999999s\"/>",
    "<break strength=\"x-strong\"/>",
    "<say-as interpret-as=\"characters\">",
    "<say-as interpret-as=\"tts:key\">",
    "<say-as interpret-as=\"tts:digits\">",
    "</say-as>",
    "<sub alias=\"a b c d e f\">",
    "</sub>",
    "<phoneme alphabet=\"espeak\" ph=\"h@l'oU\">",
    "</phoneme>",
    "<phoneme alphabet=\"espeak\" ph=\"",
    "<emphasis level=\"strong\">",
    "</emphasis>",
    "<audio src=\"/etc/passwd\">",
    "<audio src=\"|id\"/>",
    "</audio>",
    "<mark name=\"abcdefghijklmnopqrstuvwxyz\"/>",
    "<tts:style field=\"punctuation\" mode=\"all\">",
    "<tts:style field=\"capital_letters\" mode=\"spelling\">",
    "</tts:style>",
    "<b>",
    "</b>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

static const char *const voices[] = {
    "gmw/en-US",
    "gmw/en",
    "gmw/de",
    "roa/fr",
    "inc/hi",
    "jpx/ja",
    "ko",
    "art/jbo",
    "bat/lt",
    "zle/ru", /* from here on seldom: large dictionaries, and no voices */
    "sit/cmn",
    "sem/ar",
    "gmw/en+f3",
    "../../etc/passwd",
    "/etc/passwd",
    "",
    "gmw",
    "xx",
    "gmw/",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdef",
    "!v/f3",
    "mb/mb-en1",
    "gmw/en-US/../de",
    "/proc/self/fd/0",
};

#define USUAL_VOICES 9 /* the first ones */

static const char *const variants[] = {
    "",           "",
    "",           "f3",
    "klatt",      "whisper",
    "Mr serious", "9",
    "+",          "../f3",
    "nosuch",     "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdef",
};

static void
add_text(struct buf *text)
{
    uint32_t most = below(1000) == 0 ? LONG_TEXT : 1 + below(TEXT_MAX);
    bool repeats = below(10) == 0;
    const char *again = pieces[below(COUNT(pieces))];

    while (buf_len(text) < most) {
        if (below(30) == 0) {
            char any = (char)below(256);

            buf_add(text, &any, 1);
        } else {
            buf_add_str(
                text, str_from(repeats ? again : pieces[below(COUNT(pieces))]));
        }
    }
}

static bool
has(struct str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void
count_kinds(const struct speech_request *r)
{
    seen->ssml += r->ssml;
    seen->variants += r->speaker.len > 0;
    seen->controls += has(r->text, "\x01") || has(r->text, "&#1;");
    seen->breaks += r->ssml && has(r->text, "<break time=\"3600s\"/>");
    seen->longs += r->text.len >= LONG_TEXT;
}

/* Mostly usual numbers, else the ends of what is allowed. */
static int64_t
one_of(int64_t usual, int64_t least, int64_t most)
{
    uint32_t which = below(8);

    return which > 2    ? usual
           : which == 0 ? least
           : which == 1 ? most
                        : least + (int64_t)below((uint32_t)(most - least) + 1);
}

static struct speech_request
any_request(struct buf *text)
{
    struct speech_request r =
        request(voices[below(below(8) == 0 ? COUNT(voices) : USUAL_VOICES)],
                variants[below(below(4) == 0 ? COUNT(variants) : 7)], "");

    add_text(text);
    r.text = buf_str(text);
    r.ssml = below(3) != 0;
    count_kinds(&r);
    r.length_scale = one_of(SPEECH_MILLION, 100000, 10000000);
    r.noise_scale = one_of(-1, 0, 10000000);
    r.noise_w_scale = one_of(0, 0, 2000000);
    r.pitch = one_of(-1, 0, 99);
    r.range = one_of(-1, 0, 99);
    r.volume = one_of(-1, 0, 200);
    r.sentence_silence = one_of(0, 0, 10000);
    r.format = below(4) == 0 ? below(SPEECH_FORMATS) : SPEECH_WAV;
    r.sample_rate = below(8) == 0 ? 8000 + below(40001) : 0;
    r.max_audio = 20 + below(below(10) == 0 ? 400 : 100);
    return r;
}

/* ---- what a child does ---- */

static int
drop(void *arg, const void *data, size_t n)
{
    (void)arg;
    (void)data;
    (void)n;
    return 0;
}

struct encoding {
    struct encoder *encoder;
    struct errmsg err;
};

static int
on_samples(void *arg, const int16_t *samples, size_t n)
{
    struct encoding *e = arg;

    int status = 0;

    seen->speaking = false;
    seen->samples += (int64_t)n;
    if (e->encoder != NULL) {
        status = encoder_write(e->encoder, samples, n, &e->err);
    }
    seen->speaking = true;
    return status;
}

static void
speak(const struct speech_request *r)
{
    struct encoding e = { 0 };
    struct encoder_options o = { .format = (int)r->format,
                                 .rate_in = RATE,
                                 .rate_out = r->sample_rate,
                                 .sink = drop };
    struct synth_error err = { 0 };
    struct buf json, head;
    int status;

    buf_init(&json, 1 << 20);
    buf_init(&head, ENCODER_HEAD_MAX);
    if (r->format != SPEECH_TIMINGS) {
        e.encoder = encoder_new(&o, &e.err);
    }
    seen->samples = 0;
    seen->most = r->max_audio * RATE / 1000;
    seen->speaking = true;
    status = synth_speak(r, on_samples, &e, &json, &err);
    seen->speaking = false;
    if (status == 0) {
        seen->spoken++;
        if (e.encoder != NULL &&
            encoder_write(e.encoder, NULL, 0, &e.err) == 0) {
            encoder_end(e.encoder, &head, &e.err);
        }
    } else if (err.status == 413) {
        seen->too_long++;
    } else {
        seen->refused++;
    }
    if (seen->samples > seen->most) {
        abort();
    }
    encoder_free(&e.encoder);
    buf_clear(&json);
    buf_clear(&head);
}

static void
make_one(void)
{
    struct buf text, bytes;
    struct pack p = { .to = &bytes };
    struct speech_request r;
    struct unpack u;

    buf_init(&text, 1 << 16);
    buf_init(&bytes, SPEECH_REQUEST_MAX);
    r = any_request(&text);
    speech_pack_request(&p, &r);
    for (uint32_t n = below(5) == 0 ? 1 + below(4) : 0; n > 0; n--) {
        bytes.mem[below((uint32_t)buf_len(&bytes))] = (uint8_t)below(256);
    }
    u = (struct unpack){ .rest = buf_str(&bytes) };
    if (speech_unpack_request(&u, &r) == -1) {
        seen->nonsense++;
    } else {
        r.max_audio = r.max_audio > 60000 ? 60000 : r.max_audio;
        speak(&r);
    }
    buf_clear(&text);
    buf_clear(&bytes);
}

/* ---- whose a crash is ---- */

#ifdef __SANITIZE_ADDRESS__

void __asan_set_error_report_callback(void (*)(const char *));
void __sanitizer_symbolize_pc(void *, const char *, char *, size_t);

/* "#N ADDRESS in FUNCTION PLACE": PLACE. */
static struct str
place_of(struct str line)
{
    const char *in = memmem(line.ptr, line.len, " in ", 4);

    if (in == NULL) {
        return STR_NONE;
    }
    line = str_skip(line, (size_t)(in - line.ptr) + 4);
    str_cut(&line, ' ');
    return line;
}

/* Lines of source are told of our functions alone; those of the program that
 * have none are the library's.  Places of other libraries say nothing. */
static bool
is_of_library(struct str report)
{
    while (report.len > 0 && !has(str_first(report, 8), "#0 ")) {
        str_cut(&report, '\n');
    }
    while (report.len > 0 && report.ptr[0] != '\n') {
        struct str place = place_of(str_cut(&report, '\n'));

        if (str_starts(place, STR("modules/")) ||
            str_starts(place, STR("src/"))) {
            return false;
        }
        if (has(place, "/entry+0x")) {
            return true;
        }
    }
    return false;
}

static void
on_report(const char *report)
{
    if (is_of_library(str_from(report))) {
        _exit(LIBRARY);
    }
}

static struct sigaction handlers[NSIG];

/* Before cmocka sets others.  Names of functions are read once, not in each
 * process that crashes. */
static void
prepare_reports(void)
{
    char name[80];

    for (int number = 1; number < NSIG; number++) {
        sigaction(number, NULL, &handlers[number]);
    }
    __sanitizer_symbolize_pc(__builtin_return_address(0), "%f", name,
                             sizeof(name));
}

static void
watch_for_crashes(void)
{
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &handlers[number], NULL);
    }
    __asan_set_error_report_callback(on_report);
}

#else

static void
prepare_reports(void)
{
}

/* Between a text and its samples there is next to nothing but the library. */
static void
on_crash(int number)
{
    if (seen->speaking) {
        _exit(LIBRARY);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void
watch_for_crashes(void)
{
    struct sigaction action = { .sa_handler = on_crash,
                                .sa_flags = SA_NODEFER };

    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL); /* cmocka goes on after some */
    }
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
}

#endif

/* A child may start no process either. */
static void
start_nothing(void)
{
    struct rlimit none = { 0, 0 };

    if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) == -1) {
        _exit(99);
    }
    prctl(PR_SET_DUMPABLE, 1); /* for files in /proc/self/fd */
    setrlimit(RLIMIT_NPROC, &none);
}

static void __attribute__((noreturn)) make_batch(long end, uint64_t seed)
{
    struct errmsg err;

    if (open_data(NULL) == -1 || synth_init(&err) != RATE) {
        _exit(99);
    }
    (void)!freopen("/dev/null", "w", stderr);
    start_nothing();
    watch_for_crashes();
    while (seen->begun < end) {
        state = seed + (uint64_t)seen->begun++ * 0x51ed2701;
        alarm(30);
        make_one();
    }
    _exit(0);
}

static void
run(long requests, uint64_t seed)
{
    const char *seconds = getenv("WEIR_SECONDS");
    int64_t end_ms = seconds != NULL
                         ? clock_ms() + 1000 * strtol(seconds, NULL, 10)
                         : INT64_MAX;

    while (seen->begun < requests && clock_ms() < end_ms) {
        long end = (seen->begun / BATCH + 1) * BATCH;
        pid_t child = fork();
        int status;

        if (child == 0) {
            make_batch(end < requests ? end : requests, seed);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 99);
        if (WIFEXITED(status) && WEXITSTATUS(status) == LIBRARY) {
            library_crashes++;
        } else if (status != 0) {
            crashes++;
            print_message("request %ld of seed %llu: %s %d\n", seen->begun - 1,
                          (unsigned long long)seed,
                          WIFSIGNALED(status) ? "signal" : "status",
                          WIFSIGNALED(status) ? WTERMSIG(status)
                                              : WEXITSTATUS(status));
        }
    }
}

/* ---- main ---- */

static long requests = 1500;
static long first;
static uint64_t seed = 1;

static void
nothing_crashes(void **nothing)
{
    (void)nothing;
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    seen->begun = first;
    run(requests, seed);
    print_message("%ld requests: %ld spoken, %ld cut, %ld refused, %ld "
                  "no request; the library crashed %ld times\n"
                  "kinds: %ld SSML, %ld variants, %ld with control bytes, "
                  "%ld of an hour's break, %ld long\n",
                  seen->begun - first, seen->spoken, seen->too_long,
                  seen->refused, seen->nonsense, library_crashes, seen->ssml,
                  seen->variants, seen->controls, seen->breaks, seen->longs);
    assert_int_equal(crashes, 0);
    assert_int_equal(seen->begun, requests);
    if (requests - first >= BATCH) {
        assert_true(seen->spoken + seen->too_long > (requests - first) / 4);
        assert_true(library_crashes <= 1 + (requests - first) / 200);
        assert_true(seen->ssml > 0 && seen->variants > 0 &&
                    seen->controls > 0 && seen->breaks > 0 && seen->longs > 0);
    }
}

int
main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_crashes),
    };

    prepare_reports();
    requests = count > 1 ? strtol(args[1], NULL, 10) : requests;
    seed = count > 2 ? strtoull(args[2], NULL, 10) : seed;
    first = count > 3 ? strtol(args[3], NULL, 10) : first;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
