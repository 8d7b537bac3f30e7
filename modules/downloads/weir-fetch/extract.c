/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "fetch.h"
#include "transfer.h"
#include "json/json.h"

#define JSON_MAX 65536 /* bytes */

/* The head is all that is asked for. */
static bool
on_body(void *arg, struct str bytes)
{
    (void)arg;
    (void)bytes;
    return false;
}

static void
put_size(struct json_out *o, const struct head *h)
{
    if (h->length >= 0) {
        json_put_int(o, "filesize", h->length);
    } else {
        json_put_null(o, "filesize");
    }
}

static int
say(const struct transfer *t, const char *asked, struct errmsg *err)
{
    struct json_out o;
    struct buf text;
    char name[HEAD_TEXT], ending[HEAD_ENDING];
    struct str url = str_first(str_from(t->url), strcspn(t->url, "#"));

    head_name(&t->head, url, name);
    head_ending(&t->head, name, ending);
    head_cut_ending(name);
    if (name[0] == '\0') {
        str_copy(name, sizeof(name), STR("download"));
    }
    buf_init(&text, JSON_MAX);
    json_begin(&o, &text, false);
    json_open(&o);
    json_put_str(&o, "id", str_from(name));
    json_put_str(&o, "title", str_from(name));
    json_put_str(&o, "ext", str_from(ending));
    json_put_str(&o, "url", url);
    json_put_str(&o, "webpage_url", url);
    json_put_str(&o, "original_url", str_from(asked));
    json_put_str(&o, "protocol", str_first(url, str_find(url, ':', 0)));
    put_size(&o, &t->head);
    json_put_bool(&o, "direct", true);
    json_put_str(&o, "extractor", STR("direct"));
    json_close(&o);
    if (json_end(&o) == -1) {
        buf_clear(&text);
        return errmsg_set(err, "the description is too long");
    }
    printf("%.*s\n", STR_ARGS(buf_str(&text)));
    buf_clear(&text);
    return 0;
}

int
fetch_refuse_page(const struct head *h, struct errmsg *err)
{
    return errmsg_set(err,
                      "Unsupported URL: this is %s, not a file; the engine "
                      "yt-dlp may find media in it",
                      h->type);
}

int
fetch_extract(const struct fetch_options *o, struct errmsg *err)
{
    struct transfer t = { .stall = o->stall, .on_body = on_body };
    int rc;

    t.curl = curl_easy_init();
    if (t.curl == NULL) {
        return errmsg_set(err, "no memory");
    }
    str_copy(t.url, sizeof(t.url), str_from(o->url));
    rc = transfer_run(&t, err);
    if (rc == 0 && head_is_page(&t.head)) {
        rc = fetch_refuse_page(&t.head, err);
    } else if (rc == 0 && o->max_size > 0 && t.head.length > o->max_size) {
        rc = errmsg_set(err, "the file has %lld bytes; %lld are allowed",
                        (long long)t.head.length, (long long)o->max_size);
    } else if (rc == 0) {
        rc = say(&t, o->url, err);
    }
    curl_easy_cleanup(t.curl);
    return rc;
}
