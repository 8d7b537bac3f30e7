/*
 * Lines of a voice file.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "voice_file.h"

#include "base/utf8.h"

static bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes the first word of *s. */
static struct str
take_word(struct str *s)
{
    size_t n = 0;

    *s = str_trim_space(*s);
    while (n < s->len && !is_blank(s->ptr[n])) {
        n++;
    }
    struct str word = str_first(*s, n);

    *s = str_trim_space(str_skip(*s, n));
    return word;
}

/* Without what is behind "//". */
static struct str
without_comment(struct str line)
{
    if (line.len > 0 && line.ptr[0] == '#') {
        return STR_NONE;
    }
    for (size_t i = 0; i + 1 < line.len; i++) {
        if (line.ptr[i] == '/' && line.ptr[i + 1] == '/') {
            return str_first(line, i);
        }
    }
    return line;
}

static bool
is_tag(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '-' || c == '_')) {
            return false;
        }
    }
    return s.len > 0;
}

static bool
is_printable(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f) {
            return false;
        }
    }
    return utf8_valid(s);
}

static void
read_language(struct str value, struct voice_facts *out)
{
    struct str tag = take_word(&value);
    int64_t priority;

    if (!is_tag(tag) || out->language_count == VOICE_LANGUAGES) {
        return;
    }
    if (!str_to_int(take_word(&value), 0, 127, &priority)) {
        priority = VOICE_PRIORITY;
    }
    out->languages[out->language_count++] =
        (struct voice_language){ tag, (int)priority };
}

static void
read_line(struct str line, struct voice_facts *out)
{
    struct str value = without_comment(str_first(line, VOICE_LINE_MAX));
    struct str attribute = take_word(&value);

    if (str_eq(attribute, STR("language"))) {
        read_language(value, out);
    } else if (str_eq(attribute, STR("name"))) {
        out->display = is_printable(value) ? value : STR_NONE;
    } else if (str_eq(attribute, STR("mbrola"))) {
        out->mbrola = true;
    }
}

void
voice_file_read(struct str text, struct voice_facts *out)
{
    *out = (struct voice_facts){ .display = STR_NONE };
    while (text.len > 0) {
        read_line(str_cut(&text, '\n'), out);
    }
}
