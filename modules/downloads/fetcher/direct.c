/*
 * The engine "direct": weir-fetch, which is installed beside weir and says what
 * yt-dlp says.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/engine.h"
#include "fetcher/queue.h"
#include "fetcher/rights.h"
#include "fetcher/selection.h"

static struct str
program(const struct downloads_instance *i, struct errmsg *err)
{
    struct str path =
        fetch_engine_program(fetch_program_beside("weir-fetch"), err);

    (void)i;
    if (path.len == 0) {
        errmsg_prefix(err, "the engine direct cannot run (install weir-fetch "
                           "beside weir, or set engine): ");
    }
    return path;
}

static int
check(struct str quality, struct str format, struct errmsg *err)
{
    if (selection_converts(format)) {
        return errmsg_set(err, "format: any or mp4, because the engine direct "
                               "converts nothing; yt-dlp does");
    }
    if (!selection_is_best(quality)) {
        return errmsg_set(err, "quality: best, because the engine direct takes "
                               "a file as it is; yt-dlp chooses");
    }
    return 0;
}

static void
version(struct fetch_line *to)
{
    fetch_line_add(to, "--version");
}

static void
add_end(struct fetch_line *to, const struct downloads_instance *plan,
        struct str url)
{
    if (plan->max_file_size > 0) {
        fetch_line_printf(to, "--max-size=%lld",
                          (long long)plan->max_file_size);
    }
    fetch_line_add(to, "--");
    fetch_line_printf(to, "%.*s", STR_ARGS(url));
}

static void
extract(struct fetch_line *to, const struct queue *q,
        const struct download_wish *w)
{
    fetch_line_add(to, "--extract");
    add_end(to, &q->plan, w->url);
}

static void
download(struct fetch_line *to, const struct entry *e)
{
    add_end(to, &e->queue->plan, e->facts->fetch);
}

const struct fetch_engine direct_engine = {
    .name = "direct",
    .program = program,
    .check = check,
    .version = version,
    .extract = extract,
    .download = download,
    .read_extracted = ytdlp_read_extracted,
    .read_line = ytdlp_read_line,
};
