/*
 * Fuzz target: the head of an answer that weir-fetch reads, and the file's
 * name.
 *
 * The input's first line is the address, the others are the head's.  Numbers
 * are counts or unknown, a range lies in its total; names are UTF-8 without a
 * path or control characters, an ending has letters and digits alone.
 *
 * covers: modules/downloads/weir-fetch/head.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <ctype.h>

#include "../../modules/downloads/weir-fetch/head.h"
#include "base/utf8.h"

static void
look_at_numbers(const struct head *h)
{
    require(h->status == 0 || (h->status >= 100 && h->status <= 999));
    require(h->length >= -1 && h->total >= -1);
    require((h->first == -1) == (h->last == -1));
    require(h->first <= h->last);
    require(h->total == -1 || h->last < h->total);
    require(!head_digests_file(h) || h->has_sha256 || h->has_md5);
}

static void
look_at_text(const char *text)
{
    for (; *text != '\0'; text++) {
        require((unsigned char)*text >= 0x20 || *text == '\t');
        require(*text != 0x7f);
    }
}

static void
look_at_name(const struct head *h, struct str url)
{
    char name[HEAD_TEXT], ending[HEAD_ENDING];

    head_name(h, url, name);
    require(strlen(name) < HEAD_TEXT && utf8_valid(str_from(name)));
    require(strpbrk(name, "/\\") == NULL && strcmp(name, "..") != 0);
    look_at_text(name);
    head_ending(h, name, ending);
    require(ending[0] != '\0' && strlen(ending) < HEAD_ENDING);
    for (const char *c = ending; *c != '\0'; c++) {
        require(isalnum((unsigned char)*c) && !isupper((unsigned char)*c));
    }
    head_cut_ending(name);
    require(utf8_valid(str_from(name)));
    (void)head_is_page(h);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_of(data, size);
    struct str url = str_cut(&rest, '\n');
    struct head h = { .status = 0 };

    while (rest.len > 0) {
        head_line(&h, str_cut(&rest, '\n'));
    }
    if (h.status != 0) {
        look_at_numbers(&h);
    }
    look_at_text(h.etag);
    look_at_text(h.modified);
    look_at_name(&h, url);
    return 0;
}
