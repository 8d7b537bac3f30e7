/*
 * Scheme, one space or more, token68.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/authorization.h"

#include <string.h>

#include "base/base64.h"
#include "http/head_scan.h"

static bool
is_scheme(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!http_is_token((unsigned char)s.ptr[i])) {
            return false;
        }
    }
    return s.len > 0;
}

/* RFC 9110, 11.2. */
static bool
is_token68(struct str s)
{
    size_t n = s.len;

    while (n > 0 && s.ptr[n - 1] == '=') {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9');

        if (!letter && (c == '\0' || strchr("-._~+/", c) == NULL)) {
            return false;
        }
    }
    return n > 0;
}

/* No control bytes in user and password (RFC 7617, 2). */
static bool
is_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < ' ' || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool
parse_basic(struct pool *pool, struct authorization *out)
{
    struct str rest;

    if (!base64_decode(pool, BASE64, out->token, &rest) || !is_text(rest) ||
        str_find(rest, ':', 0) == rest.len) {
        return false;
    }
    out->user = str_cut(&rest, ':');
    out->password = rest;
    return true;
}

void
authorization_parse(struct pool *pool, struct str value,
                    struct authorization *out)
{
    struct str scheme;

    *out = (struct authorization){ AUTHORIZATION_BAD, STR_NONE, STR_NONE,
                                   STR_NONE };
    if (value.len > AUTHORIZATION_MAX) {
        return;
    }
    scheme = str_cut(&value, ' ');
    out->token = str_trim(value);
    if (!is_scheme(scheme)) {
        return;
    }
    if (str_eq_nocase(scheme, STR("Bearer"))) {
        out->kind =
            is_token68(out->token) ? AUTHORIZATION_BEARER : AUTHORIZATION_BAD;
    } else if (str_eq_nocase(scheme, STR("Basic"))) {
        out->kind =
            parse_basic(pool, out) ? AUTHORIZATION_BASIC : AUTHORIZATION_BAD;
    } else {
        out->kind = AUTHORIZATION_OTHER;
    }
}
