/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "voice.h"

#include <errno.h>
#include <espeak-ng/speak_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "request.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3 */
#endif

/* ---- lines ---- */

static struct str
next_word(struct str *line)
{
    size_t from = 0, end;
    struct str word;

    while (from < line->len &&
           (line->ptr[from] == ' ' || line->ptr[from] == '\t')) {
        from++;
    }
    for (end = from; end < line->len && line->ptr[end] != ' ' &&
                     line->ptr[end] != '\t' && line->ptr[end] != '\r';
         end++) {
    }
    word = str_of(line->ptr + from, end - from);
    *line = str_skip(*line, end);
    return word;
}

/* Words behind the last line of that keyword; false: there is none. */
static bool
last_line(struct str file, struct str keyword, struct str *words)
{
    bool found = false;

    while (file.len > 0) {
        struct str line = str_cut(&file, '\n');

        if (str_starts(line, keyword) && str_eq(next_word(&line), keyword)) {
            *words = line;
            found = true;
        }
    }
    return found;
}

static int
number(struct str word, int without)
{
    char digits[12];

    str_copy(digits, sizeof(digits), word);
    return word.len > 0 ? (int)strtol(digits, NULL, 10) : without;
}

/* ---- one file of two ---- */

/* A variant sets these anew: VoiceReset() of the library. */
static bool
is_of_tone(struct str keyword)
{
    static const char *const words[] = {
        "formant",    "pitch", "echo",    "flutter",    "roughness",
        "clarity",    "tone",  "voicing", "breath",     "breathw",
        "consonants", "klatt", "speed",   "fast_test2",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_eq(keyword, str_from(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Lengths and amplitudes of syllables stay: the library adds up its lines. */
static void
add_voice(struct buf *out, struct str voice, bool varied)
{
    while (voice.len > 0) {
        struct str line = str_cut(&voice, '\n');
        struct str rest = line, keyword = next_word(&rest);

        if (!varied || !is_of_tone(keyword)) {
            buf_add_str(out, line);
            buf_add_str(out, STR("\n"));
        }
    }
}

/* 2/3 is what the library has by itself: flutter 2, roughness 2.  Above it each
 * whole is a step of roughness, which has 7. */
static void
add_noise(struct buf *out, struct str files, int64_t noise)
{
    int64_t third = SPEECH_MILLION / 3;
    int64_t roughness = 2 + (noise - 2 * third) / SPEECH_MILLION;
    struct str words;

    buf_printf(out, "flutter %lld\n",
               (long long)((3 * noise + SPEECH_MILLION / 2) / SPEECH_MILLION));
    if (roughness > 7) {
        roughness = 7;
    }
    if (roughness > 2 && (!last_line(files, STR("roughness"), &words) ||
                          number(next_word(&words), 2) < roughness)) {
        buf_printf(out, "roughness %lld\n", (long long)roughness);
    }
}

void
voice_compose(struct str voice, struct str variant, int64_t noise_scale,
              struct buf *out)
{
    add_voice(out, voice, variant.len > 0);
    buf_add_str(out, variant);
    buf_add_str(out, STR("\n"));
    if (noise_scale >= 0) {
        add_noise(out, buf_str(out), noise_scale);
    }
}

/* ---- loading ---- */

/* MBROLA's voices are those of another program, variants are no voices. */
static bool
name_is_good(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '+' || name.ptr[i] == '\0' ||
            str_starts(str_skip(name, i), STR(".."))) {
            return false;
        }
    }
    return name.len > 0 && name.len <= SPEECH_FILE_MAX && name.ptr[0] != '/' &&
           !str_starts(name, STR("mb/")) && name.ptr[0] != '!';
}

/* A file of the tree of data, whole. */
static int
read_below(const char *folder, struct str name, struct buf *out)
{
    const char *root;
    char path[256];
    FILE *f;
    size_t n;

    espeak_Info(&root);
    snprintf(path, sizeof(path), "%s/%s/%.*s", root, folder, STR_ARGS(name));
    f = fopen(path, "re");
    if (f == NULL) {
        return -1;
    }
    n = fread(buf_reserve(out, VOICE_FILE_MAX), 1, VOICE_FILE_MAX, f);
    buf_commit(out, n);
    n = ferror(f) || n == VOICE_FILE_MAX ? 0 : n;
    fclose(f);
    return n > 0 ? 0 : -1;
}

static int
read_voice(struct str file, struct buf *out)
{
    return name_is_good(file) && (read_below("voices", file, out) == 0 ||
                                  read_below("lang", file, out) == 0)
               ? 0
               : -1;
}

/* One that nobody executes, where the kernel knows such: then the sandbox takes
 * no other. */
static int
memory_file(void)
{
    int fd = memfd_create("voice", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    return fd == -1 && errno == EINVAL ? memfd_create("voice", MFD_CLOEXEC)
                                       : fd;
}

/* The library reads a file by its path: that of a file in memory. */
static int
load_file(struct str content, struct str variant)
{
    int fd = memory_file();
    char path[40];
    int ok;

    if (fd == -1) {
        return -1;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d%s%.*s", fd,
             variant.len > 0 ? "+" : "", STR_ARGS(variant));
    ok = write(fd, content.ptr, content.len) == (ssize_t)content.len &&
         espeak_SetVoiceByFile(path) == EE_OK;
    close(fd);
    return ok ? 0 : -1;
}

/* Whether the library loads the variant itself, so that an SSML text that
 * changes the voice comes back to it.  Its names are short and no numbers. */
static bool
library_has(struct str variant, int64_t noise_scale)
{
    return noise_scale < 0 && variant.len > 0 && variant.len <= 20 &&
           (variant.ptr[0] < '0' || variant.ptr[0] > '9');
}

static int
load(struct str voice, struct str variant, struct str variant_name,
     int64_t noise_scale)
{
    bool by_library = library_has(variant_name, noise_scale);
    struct buf composed;
    int status;

    buf_init(&composed, 3 * VOICE_FILE_MAX);
    voice_compose(voice, by_library ? STR_NONE : variant, noise_scale,
                  &composed);
    status =
        load_file(buf_str(&composed), by_library ? variant_name : STR_NONE);
    buf_clear(&composed);
    return status;
}

/* Tells a file that is gone from one that cannot be read. */
static int
unreadable(const char *what, struct str name, struct errmsg *err)
{
    bool gone = errno == ENOENT || errno == ENOTDIR;

    errmsg_set(err, "the file of %s %.*s %s", what,
               STR_ARGS(str_first(name, SPEECH_VOICE_MAX)),
               gone ? "is gone; a reload of weir reads the voices anew"
                    : "cannot be read");
    return gone ? 404 : 500;
}

int
voice_load(struct str file, struct str variant, int64_t noise_scale,
           struct errmsg *err)
{
    struct buf voice, change;
    int status = 0;

    errno = 0;
    buf_init(&voice, VOICE_FILE_MAX);
    buf_init(&change, VOICE_FILE_MAX);
    if (read_voice(file, &voice) == -1) {
        status = unreadable("voice", file, err);
    } else if (variant.len > 0 &&
               (!name_is_good(variant) ||
                read_below("voices/!v", variant, &change) == -1)) {
        status = unreadable("variant", variant, err);
    } else if (load(buf_str(&voice), buf_str(&change), variant, noise_scale) ==
               -1) {
        errmsg_set(err, "voice \"%.*s\" cannot be loaded", STR_ARGS(file));
        status = 500;
    }
    buf_clear(&voice);
    buf_clear(&change);
    return status;
}
