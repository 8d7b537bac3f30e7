/*
 * Voices as JSON, in the form of Piper's files of voices.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "catalogue_impl.h"

#include <ctype.h>
#include <string.h>

#include "json/json.h"

/* Of the library without any variant or setting: flutter 2 is 0.667. */
#define NOISE_SCALE 667

/* ---- what a language is called ---- */

/* ISO 3166-1, and areas of UN M.49. */
static const struct {
    const char *code, *name;
} countries[] = {
    { "029", "Caribbean" },    { "419", "Latin America" },
    { "AT", "Austria" },       { "AU", "Australia" },
    { "BE", "Belgium" },       { "BR", "Brazil" },
    { "CA", "Canada" },        { "CH", "Switzerland" },
    { "CN", "China" },         { "DE", "Germany" },
    { "ES", "Spain" },         { "FR", "France" },
    { "GB", "Great Britain" }, { "IE", "Ireland" },
    { "IN", "India" },         { "LV", "Latvia" },
    { "MX", "Mexico" },        { "NL", "Netherlands" },
    { "NZ", "New Zealand" },   { "PT", "Portugal" },
    { "RU", "Russia" },        { "US", "United States" },
    { "VN", "Vietnam" },       { "ZA", "South Africa" },
};

/* By ISO 639; a language that is not here is told by its English name. */
static const struct {
    const char *code, *name;
} natives[] = {
    { "af", "Afrikaans" },   { "ar", "العربية" },
    { "bg", "Български" },   { "bn", "বাংলা" },
    { "bs", "Bosanski" },    { "ca", "Català" },
    { "cmn", "普通话" },     { "cs", "Čeština" },
    { "cy", "Cymraeg" },     { "da", "Dansk" },
    { "de", "Deutsch" },     { "el", "Ελληνικά" },
    { "en", "English" },     { "eo", "Esperanto" },
    { "es", "Español" },     { "et", "Eesti" },
    { "eu", "Euskara" },     { "fa", "فارسی" },
    { "fi", "Suomi" },       { "fr", "Français" },
    { "ga", "Gaeilge" },     { "he", "עברית" },
    { "hi", "हिन्दी" },       { "hr", "Hrvatski" },
    { "hu", "Magyar" },      { "id", "Bahasa Indonesia" },
    { "is", "Íslenska" },    { "it", "Italiano" },
    { "ja", "日本語" },      { "ko", "한국어" },
    { "la", "Latina" },      { "lt", "Lietuvių" },
    { "lv", "Latviešu" },    { "nb", "Norsk bokmål" },
    { "nl", "Nederlands" },  { "pl", "Polski" },
    { "pt", "Português" },   { "ro", "Română" },
    { "ru", "Русский" },     { "sk", "Slovenčina" },
    { "sl", "Slovenščina" }, { "sr", "Српски" },
    { "sv", "Svenska" },     { "sw", "Kiswahili" },
    { "tr", "Türkçe" },      { "uk", "Українська" },
    { "vi", "Tiếng Việt" },  { "yue", "粵語" },
};

static struct str
country_of(struct str region)
{
    for (size_t i = 0; i < sizeof(countries) / sizeof(*countries); i++) {
        if (str_eq(str_from(countries[i].code), region)) {
            return str_from(countries[i].name);
        }
    }
    return STR_NONE;
}

static struct str
native_of(struct str family, struct str english)
{
    for (size_t i = 0; i < sizeof(natives) / sizeof(*natives); i++) {
        if (str_eq(str_from(natives[i].code), family)) {
            return str_from(natives[i].name);
        }
    }
    return english;
}

static bool
is_all(struct str s, int (*is)(int c))
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is((unsigned char)s.ptr[i])) {
            return false;
        }
    }
    return true;
}

/* "US" of "en-us", "419" of "es-419" (RFC 5646): behind the language, and the
 * script if there is one. */
static struct str
region_of(struct str tag, char to[4])
{
    str_cut(&tag, '-');
    while (tag.len > 0) {
        struct str part = str_cut(&tag, '-');

        if (part.len == 1) {
            break; /* what follows is private */
        }
        if ((part.len == 2 && is_all(part, isalpha)) ||
            (part.len == 3 && is_all(part, isdigit))) {
            str_copy(to, 4, part);
            for (char *p = to; *p != '\0'; p++) {
                *p = (char)toupper((unsigned char)*p);
            }
            return str_of(to, part.len);
        }
    }
    return STR_NONE;
}

static void
put_language(struct json_out *o, const struct catalogue_voice *v)
{
    struct str rest = v->language;
    struct str family = str_cut(&rest, '-');
    struct str english = v->display;
    char region_room[4], code[80];
    struct str region = region_of(v->language, region_room);
    size_t n = str_copy(code, sizeof(code), family);

    if (region.len > 0) {
        n = str_append(code, sizeof(code), n, STR("_"));
        n = str_append(code, sizeof(code), n, region);
    }
    english = str_trim(str_cut(&english, '('));
    json_key(o, "language");
    json_open(o);
    json_put_str(o, "code", str_of(code, n));
    json_put_str(o, "family", family);
    json_put_str(o, "region", region);
    json_put_str(o, "name_native", native_of(family, english));
    json_put_str(o, "name_english", english);
    json_put_str(o, "country_english", country_of(region));
    json_close(o);
}

/* ---- a voice ---- */

static void
put_speakers(struct json_out *o, const struct catalogue *c)
{
    char key[64];

    json_put_int(o, "num_speakers", (int64_t)c->variant_count + 1);
    json_key(o, "speaker_id_map");
    json_open(o);
    json_put_int(o, "default", 0);
    for (size_t i = 0; i < c->variant_count; i++) {
        str_copy(key, sizeof(key), c->variants[i].name);
        json_put_int(o, key, (int64_t)i + 1);
    }
    json_close(o);
    json_put_int(o, "default_speaker_id", 0);
}

static void
put_voice(struct json_out *o, const struct catalogue *c,
          const struct catalogue_voice *v, unsigned sample_rate)
{
    json_open(o);
    json_put_str(o, "name", v->name);
    json_put_int(o, "sample_rate", sample_rate);
    json_put_str(o, "description", v->display);
    json_key(o, "audio");
    json_open(o);
    json_put_int(o, "sample_rate", sample_rate);
    json_put_str(o, "quality", STR("low"));
    json_close(o);
    json_key(o, "espeak");
    json_open(o);
    json_put_str(o, "voice", v->name);
    json_close(o);
    put_language(o, v);
    json_key(o, "inference");
    json_open(o);
    json_key(o, "noise_scale");
    json_thousandths(o, NOISE_SCALE);
    json_put_int(o, "length_scale", 1);
    json_put_int(o, "noise_w", 0);
    json_close(o);
    put_speakers(o, c);
    json_put_str(o, "phoneme_type", STR("espeak"));
    json_put_str(o, "dataset", STR("espeak-ng"));
    json_close(o);
}

int
catalogue_json(const struct catalogue *c, unsigned sample_rate, struct buf *out)
{
    struct json_out o;
    char key[64];

    json_begin(&o, out, false);
    json_open(&o);
    for (size_t i = 0; i < c->count; i++) {
        str_copy(key, sizeof(key), c->entries[i].voice.name);
        json_key(&o, key);
        put_voice(&o, c, &c->entries[i].voice, sample_rate);
    }
    json_close(&o);
    return json_end(&o);
}
