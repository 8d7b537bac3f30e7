/*
 * Answers of all formats: what ffmpeg and python's wave make of them, whole and
 * streamed, is what the encoder was given.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "encoder.h"
#include "request.h"

#define RATE 22050
#define SAMPLES 33333 /* odd, and no multiple of any frame */
#define ANSWER_MAX ((size_t)8 << 20)
#define ALL SIZE_MAX

/* ---- encoding ---- */

struct answer {
    uint8_t *bytes; /* owned */
    size_t len;
    size_t takes; /* bytes after which the sink refuses; ALL */
    size_t calls_refused;
    int64_t samples;
    unsigned rate;
    size_t head; /* bytes that were replaced */
};

static int
take(void *arg, const void *data, size_t n)
{
    struct answer *a = arg;

    if (a->takes != ALL && a->len + n > a->takes) {
        a->calls_refused++;
        return -1;
    }
    assert_true(a->len + n <= ANSWER_MAX);
    memcpy(a->bytes + a->len, data, n);
    a->len += n;
    return 0;
}

struct what {
    int format;
    int64_t rate_out;
    size_t samples;
    size_t chunk; /* samples at a time; 0: all at once */
    bool stream;  /* without the head */
    size_t takes; /* 0: all */
};

/* Two tones, of which no rate from 8000 Hz on loses any. */
static int16_t
tone(double seconds)
{
    return (int16_t)lrint(8000 * sin(2 * M_PI * 440 * seconds) +
                          6000 * sin(2 * M_PI * 1330 * seconds));
}

static int16_t *
make_samples(size_t n, unsigned rate)
{
    int16_t *all = mem_alloc((n + 1) * sizeof(*all));

    for (size_t i = 0; i < n; i++) {
        all[i] = tone((double)i / rate);
    }
    return all;
}

static int
feed(struct encoder *e, const struct what *w, struct errmsg *err)
{
    int16_t *all = make_samples(w->samples, RATE);
    size_t step = w->chunk > 0 ? w->chunk : w->samples;
    int bad = 0;

    for (size_t i = 0; i < w->samples && bad == 0; i += step) {
        size_t left = w->samples - i;

        bad = encoder_write(e, all + i, left < step ? left : step, err);
    }
    mem_free(&all);
    return bad;
}

/* 0, or -1 where the encoder said so; a->bytes is the caller's. */
static int
encode(const struct what *w, struct answer *a)
{
    struct encoder_options o = { .format = w->format,
                                 .rate_in = RATE,
                                 .rate_out = w->rate_out,
                                 .sink = take,
                                 .arg = a };
    struct errmsg err = { "" };
    struct encoder *e;
    struct buf head;
    int bad;

    *a = (struct answer){ .bytes = mem_alloc(ANSWER_MAX),
                          .takes = w->takes > 0 ? w->takes : ALL };
    buf_init(&head, ENCODER_HEAD_MAX);
    e = encoder_new(&o, &err);
    assert_non_null(e);
    bad = feed(e, w, &err);
    bad = bad != 0 ? bad : encoder_end(e, &head, &err);
    assert_string_equal(err.text, "");
    a->samples = encoder_samples(e);
    a->rate = encoder_rate(&o);
    encoder_free(&e);
    assert_null(e);
    a->head = buf_len(&head);
    if (bad == 0 && !w->stream && a->head > 0) {
        assert_true(a->head <= a->len);
        memcpy(a->bytes, buf_data(&head), a->head);
    }
    buf_clear(&head);
    return bad;
}

/* ---- other programs ---- */

static void
write_file(const struct answer *a, char *path)
{
    int fd = mkstemp(path);

    assert_true(fd != -1);
    assert_int_equal(write(fd, a->bytes, a->len), (ssize_t)a->len);
    close(fd);
}

/* Output of a command about the answer, whose file is $ANSWER in it. */
static size_t
ask(const struct answer *a, const char *command, void *out, size_t room)
{
    char path[] = "/tmp/encoder-XXXXXX";
    FILE *f;
    size_t n;

    write_file(a, path);
    setenv("ANSWER", path, 1);
    f = popen(command, "r");
    assert_non_null(f);
    n = fread(out, 1, room, f);
    assert_int_equal(pclose(f), 0);
    unlink(path);
    return n;
}

/* The samples that ffmpeg makes of it, which are the caller's. */
static size_t
decode(const struct answer *a, const char *command, int16_t **out)
{
    *out = mem_alloc(ANSWER_MAX);
    return ask(a, command, *out, ANSWER_MAX) / sizeof(**out);
}

#define WHOLE "ffmpeg -v error -i $ANSWER -f s16le -ac 1 -"
#define PIPED "cat $ANSWER | ffmpeg -v error -i - -f s16le -ac 1 -"

static void
probe(const struct answer *a, char *out, size_t room)
{
    size_t n = ask(a,
                   "ffprobe -v error -show_entries stream=codec_name,"
                   "sample_rate,channels -of csv=p=0 $ANSWER",
                   out, room - 1);

    out[n] = '\0';
}

/* dB of the tones against what differs from them; `from` is the place of
 * out[0]. */
static double
ratio(const int16_t *out, size_t n, unsigned rate, size_t from)
{
    double sound = 0, noise = 0;

    for (size_t i = n / 10; i < n - n / 10; i++) {
        double is = tone((double)(i + from) / rate);

        sound += is * is;
        noise += (out[i] - is) * (out[i] - is);
    }
    return 10 * log10((sound + 1e-9) / (noise + 1e-9));
}

/* ---- what each format is ---- */

struct expectation {
    int format;
    int64_t rate_out;
    const char *probe;
    unsigned rate;
    double ratio; /* dB, at least */
};

static const struct expectation expectations[] = {
    { SPEECH_WAV, 0, "pcm_s16le,22050,1\n", 22050, 90 },
    { SPEECH_WAV, 8000, "pcm_s16le,8000,1\n", 8000, 70 },
    { SPEECH_WAV, 11111, "pcm_s16le,11111,1\n", 11111, 70 },
    { SPEECH_WAV, 48000, "pcm_s16le,48000,1\n", 48000, 70 },
    { SPEECH_MULAW, 0, "pcm_mulaw,8000,1\n", 8000, 33 },
    { SPEECH_MULAW, 22050, "pcm_mulaw,22050,1\n", 22050, 33 },
    { SPEECH_FLAC, 0, "flac,22050,1\n", 22050, 90 },
    { SPEECH_FLAC, 16000, "flac,16000,1\n", 16000, 70 },
    { SPEECH_FLAC, 47999, "flac,47999,1\n", 47999, 70 },
    { SPEECH_OPUS, 0, "opus,48000,1\n", 48000, 12 },
    { SPEECH_OPUS, 8000, "opus,48000,1\n", 48000, 12 },
    { SPEECH_OPUS, 44100, "opus,48000,1\n", 48000, 12 },
    { SPEECH_MP3, 0, "mp3,22050,1\n", 22050, 20 },
    { SPEECH_MP3, 8000, "mp3,8000,1\n", 8000, 20 },
    { SPEECH_MP3, 9000, "mp3,11025,1\n", 11025, 20 },
    { SPEECH_MP3, 44100, "mp3,44100,1\n", 44100, 20 },
    { SPEECH_MP3, 48000, "mp3,48000,1\n", 48000, 20 },
};

#define EXPECTATIONS (sizeof(expectations) / sizeof(expectations[0]))

static size_t
expected_samples(size_t samples, unsigned rate)
{
    return (samples * rate + RATE / 2) / RATE;
}

static void
check_whole(const struct expectation *x)
{
    struct what w = { .format = x->format,
                      .rate_out = x->rate_out,
                      .samples = SAMPLES };
    size_t due = expected_samples(SAMPLES, x->rate);
    struct answer a;
    char said[256];
    int16_t *out;
    size_t n;

    assert_int_equal(encode(&w, &a), 0);
    assert_int_equal(a.rate, x->rate);
    assert_in_range(a.samples, due - 6, due + 6);
    probe(&a, said, sizeof(said));
    assert_string_equal(said, x->probe);
    n = decode(&a, WHOLE, &out);
    print_message("%s: %zu bytes, %zu samples of %zu, %.1f dB\n", said, a.len,
                  n, due, ratio(out, n, x->rate, 0));
    assert_int_equal(n, (size_t)a.samples);
    assert_true(ratio(out, n, x->rate, 0) >= x->ratio);
    mem_free(&out);
    mem_free(&a.bytes);
}

static void
test_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXPECTATIONS; i++) {
        check_whole(&expectations[i]);
    }
}

/* ---- WAV, byte by byte ---- */

static void
check_bytes(const struct what *w, const char *due, size_t n)
{
    struct answer a;

    assert_int_equal(encode(w, &a), 0);
    assert_true(a.len >= n);
    assert_memory_equal(a.bytes, due, n);
    mem_free(&a.bytes);
}

static void
test_headers_of_wav(void **state)
{
    static const char whole[] =
        "RIFF\x2e\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0"
        "\x22\x56\0\0\x44\xac\0\0\2\0\x10\0data\x0a\0\0";
    static const char stream[] = "RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\1\0"
                                 "\1\0\x22\x56\0\0\x44\xac\0\0\2\0\x10\0"
                                 "data\xff\xff\xff\xff";
    static const char mulaw[] = "RIFF\x38\0\0\0WAVEfmt \x12\0\0\0\7\0\1\0"
                                "\x22\x56\0\0\x22\x56\0\0\1\0\x8\0\0\0"
                                "fact\4\0\0\0\5\0\0\0data\5\0\0";
    struct what w = { .format = SPEECH_WAV, .samples = 5 };

    (void)state;
    check_bytes(&w, whole, sizeof(whole));
    w.stream = true;
    check_bytes(&w, stream, sizeof(stream) - 1);
    w = (struct what){ .format = SPEECH_MULAW, .rate_out = RATE, .samples = 5 };
    check_bytes(&w, mulaw, sizeof(mulaw));
}

static void
test_bare_samples(void **state)
{
    struct what w = { .format = SPEECH_PCM, .samples = SAMPLES };
    int16_t *due = make_samples(SAMPLES, RATE);
    struct answer a;

    (void)state;
    assert_int_equal(encode(&w, &a), 0);
    assert_int_equal(a.len, SAMPLES * 2);
    assert_memory_equal(a.bytes, due, a.len);
    mem_free(&due);
    mem_free(&a.bytes);
}

/* ITU-T G.711: the middle of each step is as far from its byte's value as half
 * a step, and a byte's own value comes back. */
static void
test_mulaw_of_each_sample(void **state)
{
    struct answer a = { .bytes = mem_alloc(ANSWER_MAX), .takes = ALL };
    struct encoder_options o = {
        .format = SPEECH_MULAW, .rate_in = 8000, .sink = take, .arg = &a
    };
    struct errmsg err;
    struct encoder *e = encoder_new(&o, &err);

    (void)state;
    for (int i = INT16_MIN; i <= INT16_MAX; i++) {
        int16_t s = (int16_t)i;

        assert_int_equal(encoder_write(e, &s, 1, &err), 0);
    }
    assert_int_equal(a.len, 58 + 65536);
    for (int i = INT16_MIN; i <= INT16_MAX; i++) {
        int code = ~a.bytes[58 + i - INT16_MIN] & 0xff;
        int exponent = code >> 4 & 7;
        int size = ((((code & 15) << 3) + 132) << exponent) - 132;
        int is = (code & 128) != 0 ? -size : size;
        int most = i < -32124 || i > 32124 ? 644 : 4 << exponent;

        assert_in_range(abs(is - i), 0, most);
    }
    encoder_free(&e);
    mem_free(&a.bytes);
}

/* Python's reader of WAV, for the exact header and that of a stream. */
static void
check_python(const struct what *w, const char *due)
{
    struct answer a;
    char said[128];
    size_t n;

    assert_int_equal(encode(w, &a), 0);
    n = ask(&a,
            "python3 -c 'import sys, wave\n"
            "w = wave.open(sys.argv[1])\n"
            "print(w.getframerate(), w.getnframes(), "
            "len(w.readframes(100000)))' $ANSWER",
            said, sizeof(said) - 1);
    said[n] = '\0';
    assert_string_equal(said, due);
    mem_free(&a.bytes);
}

static void
test_wav_in_python(void **state)
{
    struct what w = { .format = SPEECH_WAV, .samples = SAMPLES };

    (void)state;
    check_python(&w, "22050 33333 66666\n");
    w.stream = true;
    check_python(&w, "22050 2147483647 66666\n");
    w = (struct what){ .format = SPEECH_WAV };
    check_python(&w, "22050 0 0\n");
}

/* ---- streams ---- */

/* Decoders of what ends without having told its length.  MP3 has the delay of
 * its codec in front, and a frame that is not full. */
static void
check_stream(const struct expectation *x)
{
    struct what w = { .format = x->format,
                      .rate_out = x->rate_out,
                      .samples = SAMPLES,
                      .stream = true };
    size_t delay = x->format == SPEECH_MP3 ? 1105 : 0;
    size_t spare = x->format == SPEECH_MP3 ? 4 * 1152 : 1;
    struct answer a;
    int16_t *out;
    size_t n, due;

    assert_int_equal(encode(&w, &a), 0);
    due = (size_t)a.samples;
    n = decode(&a, PIPED, &out);
    assert_in_range(n, due + delay, due + delay + spare);
    assert_true(ratio(out + delay, due, x->rate, 0) >= x->ratio);
    mem_free(&out);
    mem_free(&a.bytes);
}

static void
test_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXPECTATIONS; i++) {
        check_stream(&expectations[i]);
    }
}

/* A stream's first bytes come with the first sound, whatever the codec. */
static void
test_sound_comes_early(void **state)
{
    static const struct {
        int format;
        size_t samples, bytes;
    } rows[] = {
        { SPEECH_WAV, 100, 244 },         { SPEECH_PCM, 100, 200 },
        { SPEECH_MULAW, RATE / 5, 1000 }, { SPEECH_FLAC, RATE / 10, 800 },
        { SPEECH_OPUS, RATE / 5, 1200 },  { SPEECH_MP3, RATE / 5, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct answer a = { .bytes = mem_alloc(ANSWER_MAX), .takes = ALL };
        struct encoder_options o = {
            .format = rows[i].format, .rate_in = RATE, .sink = take, .arg = &a
        };
        int16_t *all = make_samples(rows[i].samples, RATE);
        struct errmsg err;
        struct encoder *e = encoder_new(&o, &err);

        assert_int_equal(encoder_write(e, NULL, 0, &err), 0);
        assert_true(a.len > 0 || rows[i].format == SPEECH_PCM);
        assert_int_equal(encoder_write(e, all, rows[i].samples, &err), 0);
        assert_true(a.len >= rows[i].bytes);
        encoder_free(&e);
        mem_free(&all);
        mem_free(&a.bytes);
    }
}

/* ---- any input ---- */

static void
check_chunks(const struct expectation *x)
{
    static const size_t chunks[] = { 1, 7, 355, 1081, 4097, 20000 };
    struct what w = { .format = x->format,
                      .rate_out = x->rate_out,
                      .samples = SAMPLES };
    struct answer due, a;

    assert_int_equal(encode(&w, &due), 0);
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        w.chunk = chunks[i];
        assert_int_equal(encode(&w, &a), 0);
        assert_int_equal(a.len, due.len);
        assert_memory_equal(a.bytes, due.bytes, a.len);
        mem_free(&a.bytes);
    }
    mem_free(&due.bytes);
}

static void
test_equal_samples_give_equal_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXPECTATIONS; i++) {
        check_chunks(&expectations[i]);
    }
}

static void
test_no_samples(void **state)
{
    static const struct {
        int format;
        const char *probe;
    } rows[] = {
        { SPEECH_WAV, "pcm_s16le,22050,1\n" },
        { SPEECH_MULAW, "pcm_mulaw,8000,1\n" },
        { SPEECH_FLAC, "flac,22050,1\n" },
        { SPEECH_OPUS, "opus,48000,1\n" },
        { SPEECH_MP3, "mp3,22050,1\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct what w = { .format = rows[i].format };
        struct answer a;
        char said[256];
        int16_t *out;

        assert_int_equal(encode(&w, &a), 0);
        assert_int_equal(a.samples, 0);
        probe(&a, said, sizeof(said));
        assert_string_equal(said, rows[i].probe);
        print_message("%zu bytes, %zu samples: %s", a.len,
                      decode(&a, WHOLE, &out), said);
        mem_free(&out);
        mem_free(&a.bytes);
    }
}

static void
test_short_sounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXPECTATIONS; i++) {
        const struct expectation *x = &expectations[i];
        struct what w = { .format = x->format,
                          .rate_out = x->rate_out,
                          .samples = 441 };
        size_t due = expected_samples(441, x->rate);
        struct answer a;
        int16_t *out;

        assert_int_equal(encode(&w, &a), 0);
        assert_in_range(a.samples, due > 6 ? due - 6 : 0, due + 6);
        assert_int_equal(decode(&a, WHOLE, &out), (size_t)a.samples);
        mem_free(&out);
        mem_free(&a.bytes);
    }
}

/* It is told once, and nothing is given to the sink any more. */
static void
test_a_sink_that_refuses(void **state)
{
    static const size_t takes[] = { 1, 50, 1000, 5000 };

    (void)state;
    for (size_t i = 0; i < 4 * EXPECTATIONS; i++) {
        const struct expectation *x = &expectations[i / 4];
        struct what w = { .format = x->format,
                          .rate_out = x->rate_out,
                          .samples = SAMPLES,
                          .chunk = 500,
                          .takes = takes[i % 4] };
        struct answer a;

        assert_int_equal(encode(&w, &a), -1);
        assert_int_equal(a.calls_refused, 1);
        mem_free(&a.bytes);
    }
}

static void
test_what_there_is(void **state)
{
    struct errmsg err;

    (void)state;
    for (int f = SPEECH_WAV; f <= SPEECH_MP3; f++) {
        assert_int_equal(encoder_check(f, &err), 0);
    }
    assert_int_equal(encoder_check(SPEECH_TIMINGS, &err), -1);
    assert_non_null(strstr(err.text, "wav, pcm, mulaw"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_whole),
    cmocka_unit_test(test_headers_of_wav),
    cmocka_unit_test(test_bare_samples),
    cmocka_unit_test(test_mulaw_of_each_sample),
    cmocka_unit_test(test_wav_in_python),
    cmocka_unit_test(test_streams),
    cmocka_unit_test(test_sound_comes_early),
    cmocka_unit_test(test_equal_samples_give_equal_bytes),
    cmocka_unit_test(test_no_samples),
    cmocka_unit_test(test_short_sounds),
    cmocka_unit_test(test_a_sink_that_refuses),
    cmocka_unit_test(test_what_there_is),
};

int
main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
