/*
 * The engine yt-dlp.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/engine.h"

#include <string.h>

#include "fetcher/found.h"
#include "fetcher/queue.h"
#include "fetcher/rights.h"
#include "fetcher/selection.h"
#include "json/walk.h"

/* Beginnings of the lines that it is told to write. */
#define SAYS_PROGRESS STR("P|")
#define SAYS_BEGINS STR("B|")
#define SAYS_WORKS STR("W|")
#define SAYS_FILE STR("F|")

static struct str
program(const struct downloads_instance *i, struct errmsg *err)
{
    struct str path = fetch_engine_program(i->engine_path, err);

    if (path.len == 0) {
        errmsg_prefix(err, "the engine yt-dlp cannot run (install it, or set "
                           "engine_path): ");
    }
    return path;
}

static void
version(struct fetch_line *to)
{
    fetch_line_add(to, "--ignore-config");
    fetch_line_add(to, "--version");
}

/* ---- arguments ---- */

/* The file of options may change these: it stands behind them. */
static void
add_beginning(struct fetch_line *to)
{
    fetch_line_add(to, "--ignore-config");
    fetch_line_add(to, "--no-config-locations"); /* but those of options.h */
    fetch_line_add(to, "--socket-timeout=30");
    fetch_line_add(to, "--retries=3");
}

/* Of the file: its format takes the place of ours. */
static void
add_option(struct fetch_line *to, const char *word)
{
    struct str option = str_from(word), format = STR("--format=");

    if (str_starts(option, format)) {
        selection_add_selector(to, str_skip(option, format.len));
    } else {
        fetch_line_printf(to, "%s", word);
    }
}

static void
add_options(struct fetch_line *to, const struct queue *q)
{
    size_t count = 0;
    const char *const *words =
        q->options != NULL ? options_arguments(q->options, &count) : NULL;

    for (size_t i = 0; i < count; i++) {
        add_option(to, words[i]);
    }
}

static void
add_end(struct fetch_line *to, struct str url)
{
    fetch_line_add(to, "--no-cache-dir");
    fetch_line_add(to, "--no-warnings");
    fetch_line_add(to, "--no-colors");
    fetch_line_add(to, "--");
    fetch_line_printf(to, "%.*s", STR_ARGS(url));
}

static void
extract(struct fetch_line *to, const struct queue *q,
        const struct download_wish *w)
{
    int64_t most =
        w->limit > 0 && w->limit < EXTRACT_ITEMS ? w->limit : EXTRACT_ITEMS;

    add_beginning(to);
    add_options(to, q);
    fetch_line_add(to, "--dump-single-json");
    fetch_line_add(to, "--flat-playlist");
    fetch_line_add(to, "--ignore-no-formats-error");
    fetch_line_add(to, w->strict > 0 ? "--no-playlist" : "--yes-playlist");
    fetch_line_printf(to, "--playlist-items=1:%lld", (long long)most);
    add_end(to, found_without_smuggle(w->url));
}

static void
add_limits(struct fetch_line *to, const struct downloads_instance *plan)
{
    struct errmsg none;
    struct str ffmpeg = fetch_program(plan->ffmpeg_path, &none);

    if (ffmpeg.len > 0) {
        fetch_line_printf(to, "--ffmpeg-location=%s", ffmpeg.ptr);
    }
    if (plan->max_file_size > 0) {
        fetch_line_printf(to, "--max-filesize=%lld",
                          (long long)plan->max_file_size);
    }
}

static void
download(struct fetch_line *to, const struct entry *e)
{
    const struct entry_facts *facts = e->facts;

    add_beginning(to);
    selection_add(to, facts->quality, facts->format);
    add_options(to, e->queue);
    add_limits(to, &e->queue->plan);
    fetch_line_add(to, facts->item > 0 ? "--yes-playlist" : "--no-playlist");
    fetch_line_printf(to, "--playlist-items=%lld",
                      (long long)(facts->item > 0 ? facts->item : 1));
    fetch_line_add(to, "--no-simulate");
    fetch_line_add(to, "--quiet");
    fetch_line_add(to, "--progress");
    fetch_line_add(to, "--newline");
    fetch_line_add(to, "--output=media.%(ext)s");
    fetch_line_add(to, "--progress-template=download:P|%(progress)j");
    fetch_line_add(to, "--print=before_dl:B|%(playlist_count)s");
    fetch_line_add(to, "--print=post_process:W|");
    fetch_line_add(to, "--print=after_move:F|%(filepath)s");
    add_end(to, facts->fetch);
}

/* ---- what it says ---- */

void
ytdlp_read_extracted(struct pool *p, const struct download_wish *w,
                     struct str out, struct str error, struct extracted *x)
{
    found_read(p, out, error, w->limit, x);
}

enum progress_key {
    PROGRESS_STATUS,
    PROGRESS_FETCHED,
    PROGRESS_TOTAL,
    PROGRESS_ESTIMATE,
    PROGRESS_SPEED,
    PROGRESS_ETA,
    PROGRESS_NAME,
    PROGRESS_KEYS
};

struct progress {
    int key; /* of the value that comes; PROGRESS_KEYS: another */
    int64_t numbers[PROGRESS_KEYS];
    char status[32], name[256];
};

static bool
on_step(void *arg, const struct json_step *s)
{
    static const char *const names[PROGRESS_KEYS] = {
        "status",      "downloaded_bytes",
        "total_bytes", "total_bytes_estimate",
        "speed",       "eta",
        "filename",
    };
    struct progress *p = arg;

    if (s->depth == 0) {
        return s->is == JSON_STEP_END || s->kind == JSON_OBJECT;
    }
    if (s->depth != 1 || s->is == JSON_STEP_END) {
        return true;
    }
    if (s->is == JSON_STEP_NAME) {
        for (p->key = 0; p->key < PROGRESS_KEYS &&
                         !str_eq(s->text, str_from(names[p->key]));) {
            p->key++;
        }
    } else if (p->key == PROGRESS_STATUS && s->kind == JSON_STRING) {
        str_copy(p->status, sizeof(p->status), s->text);
    } else if (p->key == PROGRESS_NAME && s->kind == JSON_STRING) {
        line_file_name(p->name, s->text);
    } else if (p->key < PROGRESS_KEYS && s->kind == JSON_NUMBER) {
        p->numbers[p->key] = line_number(s->text);
    }
    return true;
}

static bool
read_progress(struct run_state *s, struct str json)
{
    struct progress p = { .key = PROGRESS_KEYS };
    bool whole;

    for (int i = 0; i < PROGRESS_KEYS; i++) {
        p.numbers[i] = -1;
    }
    if (json_walk(json, on_step, &p) == -1) {
        return false;
    }
    whole = strcmp(p.status, "finished") == 0;
    s->status = STATUS_DOWNLOADING;
    s->speed = whole ? -1 : p.numbers[PROGRESS_SPEED];
    s->eta = whole ? -1 : p.numbers[PROGRESS_ETA];
    run_state_count(s, p.numbers[PROGRESS_FETCHED],
                    p.numbers[PROGRESS_TOTAL] >= 0
                        ? p.numbers[PROGRESS_TOTAL]
                        : p.numbers[PROGRESS_ESTIMATE]);
    if (whole) {
        s->percent = 100000;
    }
    if (p.name[0] != '\0') {
        memcpy(s->name, p.name, sizeof(s->name));
    }
    return true;
}

bool
ytdlp_read_line(struct run_state *s, struct str line, bool is_error)
{
    if (is_error) {
        line_take_error(s->msg, sizeof(s->msg), line);
        return false; /* it is told with the end */
    }
    if (str_starts(line, SAYS_PROGRESS)) {
        return read_progress(s, str_skip(line, SAYS_PROGRESS.len));
    }
    if (str_starts(line, SAYS_BEGINS)) {
        s->status = STATUS_DOWNLOADING;
        s->items = line_number(str_skip(line, SAYS_BEGINS.len));
        return true;
    }
    if (str_starts(line, SAYS_WORKS)) {
        s->status = STATUS_POSTPROCESSING;
        s->speed = s->eta = -1;
        return true;
    }
    if (str_starts(line, SAYS_FILE) &&
        line_file_name(s->file, str_skip(line, SAYS_FILE.len))) {
        memcpy(s->name, s->file, sizeof(s->name));
        return true;
    }
    return false;
}

const struct fetch_engine ytdlp_engine = {
    .name = "yt-dlp",
    .program = program,
    .version = version,
    .extract = extract,
    .download = download,
    .read_extracted = ytdlp_read_extracted,
    .read_line = ytdlp_read_line,
};
