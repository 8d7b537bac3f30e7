/*
 * Fuzz target: a file of engine options.
 *
 * Whatever stands in it, each word that comes out is an option of the table,
 * with its value behind '='; none has a control character, and cookies lie
 * below the folder.
 *
 * covers: modules/downloads/fetcher/options_parse.c
 * covers: modules/downloads/fetcher/options_json.c
 * covers: modules/downloads/fetcher/options_value.c
 * covers: modules/downloads/fetcher/options_table.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/downloads/fetcher/options_parse.h"
#include "../../modules/downloads/fetcher/options_table.h"

static void
check_word(const char *text, bool secret)
{
    struct str word = str_from(text);
    struct str name = str_first(word, str_find(word, '=', 0));
    bool off;
    const struct option_row *r = option_find_word(name, &off);

    require(str_starts(word, STR("--")));
    require(r != NULL && option_refusal(name) == NULL);
    require(r->secret == secret);
    require((r->kind == OPTION_FLAG) == (name.len == word.len));
    for (size_t i = 0; i < word.len; i++) {
        require((unsigned char)word.ptr[i] >= ' ');
    }
}

static void
check_cookies(struct str path)
{
    require(path.len == 0 || path.ptr[0] != '/');
    while (path.len > 0) {
        require(!str_eq(str_cut(&path, '/'), STR("..")));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pool *pool = pool_new(4096);
    struct options_words w;
    struct errmsg err = { "" };
    char *copy = malloc(size + (size == 0));

    require(copy != NULL);
    memcpy(copy, data, size);
    if (engine_options_parse(pool, str_of(copy, size), STR("/etc/weir"), &w,
                             &err) == -1) {
        require(err.text[0] != '\0');
    } else {
        require(w.count < OPTIONS_ARGUMENTS &&
                w.secret_count < OPTIONS_ARGUMENTS);
        for (size_t i = 0; i < w.count; i++) {
            check_word(w.items[i], false);
        }
        for (size_t i = 0; i < w.secret_count; i++) {
            check_word(w.secrets[i], true);
        }
        check_cookies(w.cookies);
    }
    free(copy);
    pool_free(&pool);
    return 0;
}
