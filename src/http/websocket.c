/*
 * Requests to become a WebSocket (RFC 6455 4.2.1).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/websocket.h"

#include "base/base64.h"
#include "http/head_scan.h"

#define VERSION "13"
#define KEY_BYTES 16

/* Whether a header that is a list of tokens has that one, in any case. */
static bool
has_token(const struct http_request *r, const char *name, struct str wanted)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct str rest = r->headers[i].value;

        if (!str_eq_nocase(r->headers[i].name, str_from(name))) {
            continue;
        }
        while (rest.len > 0) {
            if (str_eq_nocase(str_trim(str_cut(&rest, ',')), wanted)) {
                return true;
            }
        }
    }
    return false;
}

bool
http_is_websocket(const struct http_request *r)
{
    return has_token(r, "upgrade", STR("websocket")) &&
           has_token(r, "connection", STR("upgrade"));
}

/* The only header of that name; false: there is none, or more than one. */
static bool
find_only(const struct http_request *r, const char *name, struct str *value)
{
    struct str wanted = str_from(name);
    size_t found = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, wanted)) {
            *value = r->headers[i].value;
            found++;
        }
    }
    return found == 1;
}

/* ---- extensions ---- */

static bool
is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!http_is_token((unsigned char)s.ptr[i])) {
            return false;
        }
    }
    return s.len > 0;
}

/* The value of client_max_window_bits: none, or 8 to 15 (RFC 7692 7.1.2.2). */
static bool
is_window(struct str value)
{
    return value.len == 0 || str_eq(value, STR("8")) ||
           str_eq(value, STR("9")) ||
           (value.len == 2 && value.ptr[0] == '1' && value.ptr[1] >= '0' &&
            value.ptr[1] <= '5');
}

/* Whether we may take an offer with these parameters without saying one of
 * them in our answer.  The client may do as it says with its own messages; we
 * would have to confirm its wishes for ours (server_...). */
static bool
is_bare_enough(struct str params)
{
    bool bits = false, takeover = false;

    while (params.len > 0) {
        struct str value = str_trim(str_cut(&params, ';'));
        struct str name = str_trim(str_cut(&value, '='));
        bool *seen;

        value = str_trim(value);
        if (str_eq_nocase(name, STR("client_max_window_bits")) &&
            is_window(value)) {
            seen = &bits;
        } else if (str_eq_nocase(name, STR("client_no_context_takeover")) &&
                   value.len == 0) {
            seen = &takeover;
        } else {
            return false;
        }
        if (*seen) {
            return false;
        }
        *seen = true;
    }
    return true;
}

/* One of the offers of a header. */
static bool
takes_offer(struct str offer)
{
    struct str name = str_trim(str_cut(&offer, ';'));

    return is_name(name) && str_eq_nocase(name, STR("permessage-deflate")) &&
           is_bare_enough(offer);
}

static bool
offers_deflate(const struct http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct str rest = r->headers[i].value;

        if (!str_eq_nocase(r->headers[i].name,
                           STR("sec-websocket-extensions"))) {
            continue;
        }
        while (rest.len > 0) {
            if (takes_offer(str_trim(str_cut(&rest, ',')))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the request ---- */

static int
refuse(const char **why, const char *text)
{
    *why = text;
    return 400;
}

static bool
has_body(const struct http_request *r)
{
    const struct str *length = http_header(r, "content-length");

    return http_header(r, "transfer-encoding") != NULL ||
           (length != NULL && !str_eq(*length, STR("0")));
}

static bool
is_key(struct http_request *r, struct str key)
{
    struct str bytes;

    return key.len == HTTP_WEBSOCKET_KEY &&
           base64_decode(r->pool, BASE64, key, &bytes) &&
           bytes.len == KEY_BYTES;
}

int
http_check_websocket(struct http_request *r, struct http_websocket *out,
                     const char **why)
{
    struct str version;

    if (!http_is_websocket(r)) {
        return refuse(why, "no upgrade to a WebSocket is asked for");
    }
    if (!str_eq(r->method, STR("GET")) || r->version < 11) {
        return refuse(why, "a WebSocket is asked for with GET and HTTP/1.1");
    }
    if (has_body(r)) {
        return refuse(why, "a request for a WebSocket has no body");
    }
    if (!find_only(r, "sec-websocket-version", &version) ||
        !str_eq(version, STR(VERSION))) {
        http_set_header(r, "Upgrade", STR("websocket"));
        http_set_header(r, "Sec-WebSocket-Version", STR(VERSION));
        *why = "Sec-WebSocket-Version must be " VERSION;
        return 426;
    }
    if (!find_only(r, "sec-websocket-key", &out->key) || !is_key(r, out->key)) {
        return refuse(why, "Sec-WebSocket-Key must be 16 bytes in base64");
    }
    out->deflate = offers_deflate(r);
    return 0;
}
