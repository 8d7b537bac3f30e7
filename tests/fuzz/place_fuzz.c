/*
 * Fuzz target: names of results, of titles and templates that strangers choose,
 * and folders that clients name.
 *
 * The first byte says which.  A part that was made safe is one part of a path:
 * short, visible, no option, of whole characters, and safe a second time as it
 * is.  A value brings no folder into a template.  A path that is taken stays
 * beneath a directory.
 *
 * covers: modules/downloads/fetcher/place_name.c
 * covers: modules/downloads/fetcher/place_walk.c:place_check_path
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "fetcher/place_impl.h"

enum { AS_PART, AS_TEMPLATE, AS_SETTING, AS_PATH, WAYS };

static bool
has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static size_t
count(struct str s, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        n += s.ptr[i] == c;
    }
    return n;
}

static void
look_at_part(struct str part, size_t most)
{
    char last = part.ptr[part.len > 0 ? part.len - 1 : 0];

    require(part.len > 0 && part.len <= most && utf8_valid(part));
    require(!has_control(part) && count(part, '/') == 0);
    require(part.ptr[0] != '.' && part.ptr[0] != '-');
    require(last != '.' && last != ' ');
}

static void
make_safe(struct str input)
{
    size_t most = 1 + take_byte(&input) % PLACE_PART_MAX;
    struct buf once, twice;

    buf_init(&once, PLACE_PART_MAX);
    buf_init(&twice, PLACE_PART_MAX);
    place_safe(input, most, &once);
    look_at_part(buf_str(&once), most);
    place_safe_part(buf_str(&once), &twice);
    require(str_eq(buf_str(&once), buf_str(&twice)));
    buf_clear(&once);
    buf_clear(&twice);
}

/* The template is the first line, the values are the others. */
static void
fill(struct str input)
{
    struct str template = str_cut(&input, '\n');
    const struct place_field fields[] = {
        { "title", str_cut(&input, '\n') },
        { "playlist_index", str_cut(&input, '\n') },
        { NULL, STR_NONE },
    };
    struct errmsg err = { "" };
    struct buf name;

    buf_init(&name, PLACE_PATH_MAX);
    if (place_fill(template, fields, &name, &err) == 0) {
        require(count(buf_str(&name), '/') == count(template, '/'));
    } else {
        require(err.text[0] != '\0');
    }
    buf_clear(&name);
}

static void
check_path(struct str path)
{
    struct errmsg err = { "" };

    if (place_check_path(path, &err) == -1) {
        require(err.text[0] != '\0');
        return;
    }
    require(path.len <= PLACE_PATH_MAX && !str_starts(path, STR("/")));
    require(!has_control(path) && utf8_valid(path));
    while (path.len > 0) {
        require(!str_starts(str_cut(&path, '/'), STR(".")));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    struct errmsg err;

    switch (take_byte(&input) % WAYS) {
    case AS_PART:
        make_safe(input);
        break;
    case AS_TEMPLATE:
        fill(input);
        break;
    case AS_SETTING:
        place_check_template(input, &err);
        break;
    default:
        check_path(input);
        break;
    }
    return 0;
}
