/*
 * Bit rates in metadata, as encoders tell them, and as none should.
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

#include <math.h>

#include "promised.h"
#include "rtmp/amf.h"

static struct buf bytes;

static uint64_t
promised(double pictures, double sound)
{
    struct amf_writer w = { .b = &bytes };
    uint64_t got;

    buf_init(&bytes, 4096);
    amf_put_string(&w, STR("onMetaData"));
    amf_begin_object(&w);
    amf_put_name(&w, STR("encoder"));
    amf_put_string(&w, STR("one"));
    amf_put_name(&w, STR("videodatarate"));
    amf_put_number(&w, pictures);
    amf_put_name(&w, STR("audiodatarate"));
    amf_put_number(&w, sound);
    amf_end_object(&w);
    got = promised_by(buf_str(&bytes));
    for (size_t n = 0; n < buf_len(&bytes); n++) { /* cut off anywhere */
        assert_in_range(promised_by(str_first(buf_str(&bytes), n)), 0, got);
    }
    buf_clear(&bytes);
    return got;
}

static void
test_rates(void **state)
{
    static const struct {
        double pictures, sound;
        uint64_t want;
    } rows[] = {
        { 6000, 160, 6160000 },    /* OBS */
        { 2500.5, 0, 2500500 },    /* pictures alone */
        { 0, 128, 128000 },        /* a rate that is not known is 0 */
        { 2500000, 128, 128000 },  /* bits */
        { 2500, 128000, 2500000 }, /* likewise */
        { -1, -1, 0 },
        { (double)NAN, (double)INFINITY, 0 },
        { 200000, 10000, 210000000 },
        { 200001, 10001, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(promised(rows[i].pictures, rows[i].sound),
                         rows[i].want);
    }
}

static void
test_no_metadata(void **state)
{
    static const char *const texts[] = { "", "\2\0\1x", "\2\0\1x\5",
                                         "\2\0\1x\2\0\1y" };
    static const size_t lengths[] = { 0, 4, 5, 8 };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(promised_by(str_of(texts[i], lengths[i])), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_no_metadata),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
