/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_key.h"

#include "upstream_balance.h"

#define HEADER "$header_"
#define QUERY "$query_"
#define NAME_MAX_LEN 100

/* The name behind a prefix, or STR_NONE. */
static struct str
behind(struct str key, const char *prefix)
{
    struct str p = str_from(prefix);

    return str_starts(key, p) ? str_skip(key, p.len) : STR_NONE;
}

int
upstream_check_key(struct str key, struct errmsg *err)
{
    struct str name = behind(key, HEADER);

    if (name.len == 0) {
        name = behind(key, QUERY);
    }
    if (str_eq(key, STR("$client")) || str_eq(key, STR("$path")) ||
        (name.len > 0 && name.len <= NAME_MAX_LEN)) {
        return 0;
    }
    return errmsg_set(err, "must be \"$client\", \"$path\", \"$header_NAME\" "
                           "or \"$query_NAME\"");
}

/* "$header_user_agent" is User-Agent. */
static struct str
header(struct http_request *r, struct str name)
{
    char text[NAME_MAX_LEN + 1];
    size_t len = str_copy(text, sizeof(text), name);
    const struct str *value;

    for (size_t i = 0; i < len; i++) {
        text[i] = text[i] == '_' ? '-' : text[i];
    }
    value = http_header(r, text);
    return value != NULL ? *value : STR_NONE;
}

static struct str
query(struct http_request *r, struct str name)
{
    char text[NAME_MAX_LEN + 1];
    struct str value = STR_NONE;

    str_copy(text, sizeof(text), name);
    return http_query(r, text, &value) ? value : STR_NONE;
}

uint64_t
upstream_key(struct str key, struct http_request *r)
{
    struct str name = behind(key, HEADER);

    if (name.len > 0) {
        return balance_key(header(r, name));
    }
    name = behind(key, QUERY);
    if (name.len > 0) {
        return balance_key(query(r, name));
    }
    if (str_eq(key, STR("$path"))) {
        return balance_key(r->path);
    }
    return balance_key(str_of(r->client.ip, sizeof(r->client.ip)));
}
