/*
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
write_article(struct store_value *params, const struct draft *d,
              int64_t edition)
{
    params[0] = store_text(d->title);
    params[1] = store_int(d->author_id);
    params[2] = store_int(d->created_at);
    params[3] = store_int(d->updated_at);
    params[4] = store_int(edition);
    params[5] = store_int((int64_t)d->content.len);
    params[6] = store_text(d->content);
}
