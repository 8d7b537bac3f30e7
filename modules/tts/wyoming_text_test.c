/*
 * Sentences of a text that comes bit by bit: they are the same however it is
 * cut, and what was looked at is not looked at again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "wyoming.h"

#define LONG 65536 /* bytes of a text without an end */
#define KEPT 8     /* bytes before the place of a scan, which it may look at */

static const char *const cases[] = {
    /* "|" stands where a sentence ends */
    "Hello world. |This is Dr. No, who has\nno time! |And on",
    "He said \"Never.\" |Then \"Yes!\"\n|Then he went. away",
    "(What?) |Wait… |What?! |1.5 is 3 halves. |2 more",
    "你好。|他说：“是！”|再见？”|好",
    "A title\n\n|A long text.\n\n|\n\n|And more. \n\n|  x\n y",
    "etc. and so forth.     |Wide.\t\r\n|Small. small... |Dots",
    "Open. |\"Quoted.\" |'End.'",
    "naïve… |Überall. |Schluß",
    "...",
    "",
};

/* The text with its sentences marked, as they are found when it comes in
 * pieces of that size. */
static void
split(struct str text, size_t step, char *to, size_t room)
{
    struct wyoming_scan s = { .at = 0 };
    size_t begin = 0, out = 0;

    for (size_t end = 0; end < text.len;) {
        size_t n;

        end = text.len - end < step ? text.len : end + step;
        while ((n = wyoming_sentence(
                    &s, str_of(text.ptr + begin, end - begin))) > 0) {
            out += (size_t)snprintf(to + out, room - out, "%.*s|", (int)n,
                                    text.ptr + begin);
            begin += n;
            s = (struct wyoming_scan){ .at = 0 };
        }
    }
    snprintf(to + out, room - out, "%.*s", (int)(text.len - begin),
             text.ptr + begin);
}

static void
sentences_are_the_same_however_the_text_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256], found[256];
        size_t len = 0;

        for (const char *p = cases[i]; *p != '\0'; p++) {
            if (*p != '|') {
                text[len++] = *p;
            }
        }
        for (size_t step = 1; step <= len + 1; step++) {
            found[0] = '\0';
            split(str_of(text, len), step, found, sizeof(found));
            assert_string_equal(found, cases[i]);
        }
    }
}

/* The text is `front`, many times `sign`, and `back`, before whose last byte a
 * sentence ends.  Bytes that were looked at become others, which would end one,
 * or keep it from ending: a scan that looked at them again would be misled. */
static void
resumes(const char *front, const char *sign, const char *back)
{
    static char text[LONG + 64];
    struct wyoming_scan s = { .at = 0 };
    size_t at = strlen(front), len = 0, n = 0;

    memcpy(text, front, at);
    while (len < LONG) {
        size_t seen = s.behind > 0 ? s.behind : s.at;

        memcpy(text + at + len, sign, strlen(sign));
        len += strlen(sign);
        n = wyoming_sentence(&s, str_of(text, at + len));
        assert_int_equal(n, 0);
        assert_true((s.behind > 0 ? s.behind : s.at) + 3 >= at + len);
        for (size_t i = at; i + KEPT < seen; i++) {
            text[i] = ".\nA"[i % 3];
        }
    }
    memcpy(text + at + len, back, strlen(back));
    len += strlen(back);
    assert_int_equal(wyoming_sentence(&s, str_of(text, at + len)),
                     at + len - 1);
}

static void
what_was_looked_at_is_not_looked_at_again(void **state)
{
    (void)state;
    resumes("", "x", ". B");       /* a word without an end */
    resumes("", ".x ", "long. B"); /* stops that end nothing */
    resumes("", "ü", ". B");       /* more than a byte */
    resumes("Word.", ")", " B");   /* what closes it may go on */
    resumes("Word. ", " ", "B");   /* what follows is not known */
    resumes("Word.\"", " ", "B");  /* both */
    resumes("好。", "」", "B");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_the_same_however_the_text_is_cut),
        cmocka_unit_test(what_was_looked_at_is_not_looked_at_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
