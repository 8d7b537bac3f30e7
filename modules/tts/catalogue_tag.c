/*
 * Voices by language tag (RFC 5646): "en-gb", "zh", "de_DE".
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "catalogue_impl.h"

/* ISO 3166-1, with a blank between them. */
static const char countries[] =
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF "
    "BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG "
    "CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC "
    "EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL "
    "GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN "
    "IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA "
    "LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN "
    "MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP "
    "NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO "
    "RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV "
    "SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG "
    "UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

static bool
is_country(struct str code)
{
    struct str all = STR(countries);

    while (all.len > 0 && code.len == 2) {
        if (str_eq_nocase(str_cut(&all, ' '), code)) {
            return true;
        }
    }
    return false;
}

static const struct catalogue_voice *
find_exactly(const struct catalogue *c, struct str asked)
{
    const struct catalogue_voice *best = NULL;
    int priority = 128;

    for (size_t i = 0; i < c->count; i++) {
        const struct catalogue_entry *e = &c->entries[i];

        for (size_t k = 0; k < e->language_count; k++) {
            if (e->languages[k].priority < priority &&
                catalogue_is_like(e->languages[k].tag, asked)) {
                best = &e->voice;
                priority = e->languages[k].priority;
            }
        }
    }
    return best;
}

/* "de" of "de-DE"; empty: it is no such tag. */
static struct str
without_country(struct str asked)
{
    if (asked.len < 5 || !is_country(str_skip(asked, asked.len - 2)) ||
        (asked.ptr[asked.len - 3] != '-' && asked.ptr[asked.len - 3] != '_')) {
        return STR_NONE;
    }
    return str_first(asked, asked.len - 3);
}

const struct catalogue_voice *
catalogue_find_tag(const struct catalogue *c, struct str asked)
{
    const struct catalogue_voice *v = find_exactly(c, asked);

    return v != NULL ? v : find_exactly(c, without_country(asked));
}
