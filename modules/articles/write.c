/*
 * The parameters of each statement that writes an article.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "write.h"

#include <assert.h>

struct store_value *
write_step(struct write_steps *w, enum articles_statement which, size_t params,
           bool must_change)
{
    size_t i = w->count++;

    assert(i < STORE_STEPS && params <= WRITE_PARAMS);
    w->steps[i] = (struct store_step){ &articles_statements[which],
                                       w->params[i], params, must_change };
    return w->params[i];
}

void
write_author(struct write_steps *w, const struct draft *d, int64_t now)
{
    struct store_value *p = write_step(w, SQL_ADD_AUTHOR, 4, false);

    p[0] = store_int(d->author_id);
    p[1] = store_text(d->author_name);
    p[2] = store_int(now);
    p[3] = store_int(ask_edition());
    if (d->author_name.len > 0) {
        struct store_value *named = write_step(w, SQL_NAME_AUTHOR, 4, false);

        for (size_t i = 0; i < 4; i++) {
            named[i] = p[i];
        }
    }
}

void
write_name(struct write_steps *w, const struct draft *d, struct store_value id,
           int64_t now)
{
    struct store_value *p = write_step(w, SQL_NAME_OF, 4, false);

    p[0] = id;
    p[1] = store_text(d->author_name);
    p[2] = store_int(now);
    p[3] = store_int(ask_edition());
}

static struct store_value
int_or_null(bool has, int64_t n)
{
    return has ? store_int(n) : (struct store_value){ .type = STORE_NULL };
}

static struct store_value
text_or_null(bool has, struct str s)
{
    return has ? store_text(s) : (struct store_value){ .type = STORE_NULL };
}

void
write_article(struct store_value *params, const struct draft *d,
              int64_t edition)
{
    params[0] = text_or_null(d->has_title, d->title);
    params[1] = int_or_null(d->author_id != 0, d->author_id);
    params[2] = int_or_null(d->has_created_at, d->created_at);
    params[3] = int_or_null(d->has_updated_at, d->updated_at);
    params[4] = store_int(edition);
    params[5] = int_or_null(d->has_content, (int64_t)d->content.len);
    params[6] = text_or_null(d->has_content, d->content);
}
