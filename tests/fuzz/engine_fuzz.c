/*
 * Fuzz target: lines that an engine writes while it downloads.
 *
 * The first byte says whether they are errors, the second how large the pieces
 * are in which they come.  The state of the run is the same however they come;
 * it never has a number or a name that clients must not see.
 *
 * covers: modules/downloads/fetcher/lines.c
 * covers: modules/downloads/fetcher/ytdlp.c:ytdlp_read_line,read_progress
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/downloads/downloads.h"
#include "../../modules/downloads/fetcher/engine.h"
#include "base/utf8.h"

struct reading {
    struct run_state state;
    bool errors;
};

static void
require_text(const char *text, size_t size)
{
    struct str s = str_from(text);

    require(memchr(text, '\0', size) != NULL && utf8_valid(s));
    for (size_t i = 0; i < s.len; i++) {
        require((unsigned char)s.ptr[i] >= 0x20 && s.ptr[i] != 0x7f);
    }
}

static void
require_name(const char *name)
{
    require_text(name, 256);
    require(name[0] != '.' && strchr(name, '/') == NULL);
}

static void
look(const struct run_state *s)
{
    require(s->status >= STATUS_PENDING && s->status <= STATUS_POSTPROCESSING);
    require(s->percent >= -1 && s->percent <= 100000);
    require(s->speed >= -1 && s->eta >= -1 && s->fetched >= -1 &&
            s->total >= -1);
    require_name(s->name);
    require_name(s->file);
    require_text(s->msg, sizeof(s->msg));
}

static void
on_line(void *arg, struct str line)
{
    struct reading *r = arg;

    require(line.len > 0 && line.len <= LINE_MAX_BYTES);
    ytdlp_engine.read_line(&r->state, line, r->errors);
    look(&r->state);
}

static struct run_state
read_all(struct str text, bool errors, size_t step)
{
    struct reading r = { .errors = errors };
    struct line_reader lines;

    run_state_init(&r.state);
    line_reader_init(&lines);
    while (text.len > 0) {
        struct str piece = str_first(text, step);

        line_reader_take(&lines, piece, on_line, &r);
        text = str_skip(text, piece.len);
    }
    line_reader_end(&lines, on_line, &r);
    line_reader_clear(&lines);
    return r.state;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    bool errors = (take_byte(&input) & 1) != 0;
    size_t step = 1 + take_byte(&input);
    struct run_state whole = read_all(input, errors, SIZE_MAX);
    struct run_state bits = read_all(input, errors, step);

    require(whole.status == bits.status && whole.percent == bits.percent &&
            whole.eta == bits.eta && whole.fetched == bits.fetched &&
            strcmp(whole.name, bits.name) == 0 &&
            strcmp(whole.file, bits.file) == 0 &&
            strcmp(whole.msg, bits.msg) == 0);
    return 0;
}
