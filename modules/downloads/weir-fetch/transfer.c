/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "transfer.h"

#include <stdio.h>
#include <string.h>

#include "config.h"
#include "http/http.h"

#define CONNECT_S 30L
#define AGENT "weir-fetch/" WEIR_VERSION
/* Any one makes libcurl keep those that a redirect sets; COOKIEFILE leaks. */
#define NO_COOKIE "Set-Cookie: a=b; domain=weir.invalid"
#define CHUNK (256L << 10)  /* bytes of a read */
#define MOVED_MAX (1 << 20) /* bytes that a redirect may say */

/* ---- what libcurl calls ---- */

static size_t
on_header(char *line, size_t one, size_t len, void *arg)
{
    struct transfer *t = arg;
    struct str s = str_of(line, len);

    while (s.len > 0 &&
           (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\r')) {
        s.len--;
    }
    head_line(&t->head, s);
    return one * len;
}

static size_t
on_bytes(char *bytes, size_t one, size_t len, void *arg)
{
    struct transfer *t = arg;

    if (t->head.status >= 300 && t->head.status < 400) {
        t->moved += (int64_t)(one * len);
        return t->moved <= MOVED_MAX ? one * len : 0;
    }
    if (t->head.status != 200 && t->head.status != 206) {
        return 0; /* nobody reads what an error says */
    }
    if (!t->on_body(t->arg, str_of(bytes, len))) {
        t->ended = true;
        return 0;
    }
    return one * len;
}

static int
on_time(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct transfer *t = arg;

    (void)a;
    (void)b;
    (void)c;
    (void)d;
    if (t->on_time != NULL) {
        t->on_time(t->arg);
    }
    return 0;
}

/* ---- one address ---- */

static void
set_up(struct transfer *t, const char *schemes, struct curl_slist **fields)
{
    CURL *c = t->curl;
    char line[HEAD_TEXT + 32];

    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, t->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, schemes);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)t->stall);
    curl_easy_setopt(c, CURLOPT_USERAGENT, AGENT);
    curl_easy_setopt(c, CURLOPT_COOKIELIST, NO_COOKIE);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, CHUNK);
    curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_time);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    *fields = curl_slist_append(NULL, "Accept-Encoding: identity");
    if (t->from > 0) {
        snprintf(line, sizeof(line), "Range: bytes=%lld-", (long long)t->from);
        *fields = curl_slist_append(*fields, line);
        snprintf(line, sizeof(line), "If-Range: %s", t->if_range);
        *fields = curl_slist_append(*fields, line);
    }
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, *fields);
}

static CURLcode
get(struct transfer *t, const char *schemes, char why[CURL_ERROR_SIZE])
{
    struct curl_slist *fields;
    CURLcode rc;

    why[0] = '\0';
    t->head = (struct head){ .status = 0 };
    t->moved = 0;
    set_up(t, schemes, &fields);
    curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, why);
    rc = curl_easy_perform(t->curl);
    curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, NULL);
    curl_slist_free_all(fields);
    return rc;
}

/* ---- how it went ---- */

static bool
is_redirect(const struct head *h)
{
    return h->moved &&
           (h->status == 301 || h->status == 302 || h->status == 303 ||
            h->status == 307 || h->status == 308);
}

static bool
is_https(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

static int
fail(struct transfer *t, CURLcode rc, const char *why, struct errmsg *err)
{
    int status = t->head.status;
    long tunnel = 0;

    if (status >= 300 && status != 416) {
        const char *text = http_status_text(status);

        t->temporary = status == 408 || status == 429 || status >= 500;
        return errmsg_set(err, "HTTP Error %d%s%s", status,
                          text != NULL ? ": " : "", text != NULL ? text : "");
    }
    if (status == 416) {
        return errmsg_set(err, "HTTP Error 416: the server has no such part");
    }
    curl_easy_getinfo(t->curl, CURLINFO_HTTP_CONNECTCODE, &tunnel);
    t->temporary = tunnel != 403 && tunnel != 407 && /* the proxy's no */
                   rc != CURLE_UNSUPPORTED_PROTOCOL &&
                   rc != CURLE_URL_MALFORMAT && rc != CURLE_OUT_OF_MEMORY &&
                   rc != CURLE_PEER_FAILED_VERIFICATION;
    if (rc == CURLE_UNSUPPORTED_PROTOCOL) {
        return errmsg_set(err, "the address leads to another scheme than %s",
                          is_https(t->url) ? "https"
                                           : "http and https, or "
                                             "from https to http");
    }
    if (rc == CURLE_OPERATION_TIMEDOUT) {
        return errmsg_set(err, "nothing came for %lld s: %s",
                          (long long)t->stall, why);
    }
    return errmsg_set(err, "%s", why[0] != '\0' ? why : curl_easy_strerror(rc));
}

/* -1: it leads nowhere. */
static int
follow(struct transfer *t, struct errmsg *err)
{
    char *next = NULL;

    if (t->moved > MOVED_MAX) {
        return errmsg_set(err, "the redirect says more than %d bytes",
                          MOVED_MAX);
    }
    curl_easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &next);
    if (next == NULL || strlen(next) > TRANSFER_URL) {
        return errmsg_set(err, "the redirect has no address that can be used");
    }
    memmove(t->url, next, strlen(next) + 1);
    return 0;
}

int
transfer_run(struct transfer *t, struct errmsg *err)
{
    const char *schemes = "http,https";
    char why[CURL_ERROR_SIZE];

    t->ended = t->temporary = false;
    for (int i = 0; i <= TRANSFER_REDIRECTS; i++) {
        CURLcode rc;

        schemes = is_https(t->url) ? "https" : schemes;
        rc = get(t, schemes, why);
        if (t->ended) {
            return 0;
        }
        if (is_redirect(&t->head)) {
            if (follow(t, err) == -1) {
                return -1;
            }
            continue;
        }
        return rc == CURLE_OK && t->head.status >= 200 && t->head.status < 300
                   ? 0
                   : fail(t, rc, why, err);
    }
    return errmsg_set(err, "more than %d redirects", TRANSFER_REDIRECTS);
}
