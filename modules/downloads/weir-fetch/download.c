/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fetch.h"
#include "transfer.h"
#include "json/json.h"

#define STATE_MAX 1024    /* bytes of a state file */
#define PROGRESS_MAX 1024 /* bytes of a line of progress */
#define FILE_NAME_MAX 128 /* bytes of a file's name, with its NUL */
#define TRIES 50          /* in all */
#define PAUSES 3          /* that grow, each to twice the last: 1, 2, 4, 8 s */

struct download {
    const struct fetch_options *options;
    struct transfer t;
    char part[FILE_NAME_MAX], state[FILE_NAME_MAX], file[FILE_NAME_MAX];
    int fd;             /* of part; -1: not open */
    int64_t have;       /* bytes of part */
    int64_t total;      /* of the file; -1: unknown */
    bool begun;         /* this answer's body has begun */
    struct errmsg *why; /* of the end that on_body made */
    int64_t began_ms, said_ms, said_bytes;
    double speed; /* bytes/s, lately; 0: unknown */
};

/* ---- progress ---- */

static void
put_number(struct json_out *o, const char *key, int64_t n)
{
    if (n >= 0) {
        json_put_int(o, key, n);
    } else {
        json_put_null(o, key);
    }
}

static void
say(const struct download *d, const char *status)
{
    struct json_out o;
    struct buf line;
    int64_t speed = d->speed >= 1 ? (int64_t)d->speed : -1;

    buf_init(&line, PROGRESS_MAX);
    json_begin(&o, &line, false);
    json_open(&o);
    json_put_str(&o, "status", str_from(status));
    json_put_int(&o, "downloaded_bytes", d->have);
    put_number(&o, "total_bytes", d->total);
    put_number(&o, "speed", speed);
    put_number(&o, "eta",
               speed > 0 && d->total >= d->have ? (d->total - d->have) / speed
                                                : -1);
    json_put_str(&o, "filename", str_from(d->file));
    json_close(&o);
    if (json_end(&o) == 0) {
        printf("P|%.*s\n", STR_ARGS(buf_str(&line)));
        fflush(stdout);
    }
    buf_clear(&line);
}

static void
on_time(void *arg)
{
    struct download *d = arg;
    int64_t now = clock_ms(), passed = now - d->said_ms;
    double latest;

    if (passed < FETCH_PROGRESS_MS || !d->begun) {
        return;
    }
    latest = (double)(d->have - d->said_bytes) * 1000 / (double)passed;
    d->speed = d->speed == 0 ? latest : d->speed * 0.7 + latest * 0.3;
    d->said_ms = now;
    d->said_bytes = d->have;
    say(d, "downloading");
}

/* ---- the state beside the part ---- */

/* The lines of a head that say which file this is. */
static void
keep_state(const struct download *d)
{
    const struct head *h = &d->t.head;
    int fd = open(d->state,
                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd == -1) {
        return; /* then it is begun again */
    }
    if (h->etag[0] != '\0') {
        dprintf(fd, "ETag: %s\n", h->etag);
    }
    if (h->modified[0] != '\0') {
        dprintf(fd, "Last-Modified: %s\n", h->modified);
    }
    close(fd);
}

static void
read_state(const struct download *d, char validator[HEAD_TEXT])
{
    char text[STATE_MAX];
    struct head h = { .status = 0 };
    int fd = open(d->state, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text));
    struct str rest = str_of(text, n > 0 ? (size_t)n : 0);

    if (fd != -1) {
        close(fd);
    }
    while (rest.len > 0) {
        head_line(&h, str_cut(&rest, '\n'));
    }
    memcpy(validator, h.etag[0] != '\0' ? h.etag : h.modified, HEAD_TEXT);
}

/* ---- the part ---- */

static int
open_part(struct download *d, struct errmsg *err)
{
    struct stat st;

    d->fd = open(d->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (d->fd == -1 || fstat(d->fd, &st) == -1) {
        return errmsg_sys(err, "cannot write %s", d->part);
    }
    d->have = st.st_size;
    return 0;
}

/* The answer's first byte is that of the file, or goes on where we are. */
static bool
place(struct download *d)
{
    const struct head *h = &d->t.head;
    bool goes_on = h->status == 206 && h->first == d->have;

    if (h->status == 206 && !goes_on) {
        errmsg_set(d->why, "the server sends another part than was asked for");
        return false;
    }
    if (!goes_on) {
        d->have = 0;
        keep_state(d);
    }
    d->total = h->status == 206 ? h->total : h->length;
    if (ftruncate(d->fd, d->have) == -1 ||
        lseek(d->fd, d->have, SEEK_SET) == -1) {
        errmsg_sys(d->why, "cannot write %s", d->part);
        return false;
    }
    d->begun = true;
    d->said_bytes = d->have;
    say(d, "downloading");
    return true;
}

static bool
is_too_large(const struct download *d, int64_t size)
{
    int64_t most = d->options->max_size;

    if (most == 0 || size <= most) {
        return false;
    }
    errmsg_set(d->why,
               "the file is larger than the %lld bytes that are allowed",
               (long long)most);
    return true;
}

static bool
write_all(struct download *d, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(d->fd, bytes.ptr, bytes.len);

        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errmsg_sys(d->why, "cannot write %s", d->part);
            return false;
        }
        bytes = str_skip(bytes, (size_t)n);
        d->have += n;
    }
    return true;
}

static void
set_names(struct download *d)
{
    char name[HEAD_TEXT], ending[HEAD_ENDING];

    head_name(&d->t.head, str_from(d->t.url), name);
    head_ending(&d->t.head, name, ending);
    snprintf(d->file, sizeof(d->file), "%s.%s", d->options->base, ending);
}

/* It was a file when it was looked at, or yt-dlp has found a video in it. */
static bool
begin_body(struct download *d)
{
    if (head_is_page(&d->t.head)) {
        fetch_refuse_page(&d->t.head, d->why);
        return false;
    }
    set_names(d);
    return place(d);
}

static bool
on_body(void *arg, struct str bytes)
{
    struct download *d = arg;

    if (!d->begun && (!begin_body(d) || is_too_large(d, d->total))) {
        return false;
    }
    if (is_too_large(d, d->have + (int64_t)bytes.len) || !write_all(d, bytes)) {
        return false;
    }
    on_time(d);
    return true;
}

/* ---- the end ---- */

/* All of it is there; is it what the server has? */
static int
verify(const struct download *d, struct errmsg *err)
{
    const struct head *h = &d->t.head;
    uint8_t digest[DIGEST_SHA256];
    size_t size = (size_t)d->have;
    void *bytes;
    bool right;

    if (d->total >= 0 && d->have != d->total) {
        return errmsg_set(err, "%lld of %lld bytes came", (long long)d->have,
                          (long long)d->total);
    }
    if (!head_digests_file(h) || size == 0) {
        return 0;
    }
    bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, d->fd, 0);
    if (bytes == MAP_FAILED) {
        return errmsg_sys(err, "cannot read %s", d->part);
    }
    if (h->has_sha256) {
        digest_sha256(bytes, size, digest);
        right = memcmp(digest, h->sha256, DIGEST_SHA256) == 0;
    } else {
        right = digest_md5(bytes, size, digest) == -1 ||
                memcmp(digest, h->md5, DIGEST_MD5) == 0;
    }
    munmap(bytes, size);
    return right ? 0
                 : errmsg_set(err,
                              "the file is damaged: its %s is not the one "
                              "that the server tells",
                              h->has_sha256 ? "SHA-256" : "MD5");
}

/* The file is as old as the server says. */
static void
set_time(const struct download *d)
{
    time_t then = d->t.head.modified[0] != '\0'
                      ? curl_getdate(d->t.head.modified, NULL)
                      : -1;
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = then } };

    if (then > 0) {
        futimens(d->fd, times);
    }
}

static int
finish(struct download *d, struct errmsg *err)
{
    if (!d->begun && !begin_body(d)) { /* an empty one has no body */
        return -1;
    }
    if (verify(d, err) == -1) {
        unlink(d->part); /* no further bytes make it right */
        unlink(d->state);
        return -1;
    }
    set_time(d);
    if (fdatasync(d->fd) == -1 || rename(d->part, d->file) == -1) {
        return errmsg_sys(err, "cannot write %s", d->file);
    }
    unlink(d->state);
    d->total = d->have;
    say(d, "finished");
    printf("F|%s\n", d->file);
    return 0;
}

/* ---- trying ---- */

/* 416: the part is as long as the file, or longer. */
static bool
is_whole_already(struct download *d)
{
    const struct head *h = &d->t.head;

    if (h->status != 416 || h->total < 0 || h->total != d->have) {
        return false;
    }
    set_names(d);
    d->total = h->total;
    d->begun = true;
    return true;
}

/* One answer.  0: the file is there; 1: another try may help. */
static int
try_once(struct download *d, struct errmsg *err)
{
    int rc;

    d->begun = false;
    str_copy(d->t.url, sizeof(d->t.url), str_from(d->options->url));
    read_state(d, d->t.if_range);
    d->t.from = d->t.if_range[0] != '\0' ? d->have : 0;
    err->text[0] = '\0';
    rc = transfer_run(&d->t, err);
    if (rc == 0 && !d->t.ended) {
        return finish(d, err);
    }
    if (is_whole_already(d)) {
        return finish(d, err);
    }
    if (d->t.head.status == 416 && d->t.from > 0) {
        unlink(d->state); /* the next asks for all of it */
        return 1;
    }
    return d->t.temporary && !d->t.ended ? 1 : -1;
}

static int
try_all(struct download *d, struct errmsg *err)
{
    int64_t left = d->options->retries;

    for (int i = 0; i < TRIES; i++) {
        int64_t before = d->have;
        int rc = try_once(d, err);

        if (rc != 1) {
            return rc;
        }
        left = (d->have > before ? d->options->retries : left) - 1;
        if (left < 0) {
            return -1;
        }
        sleep(1U << (i < PAUSES ? i : PAUSES));
    }
    return -1;
}

int
fetch_download(const struct fetch_options *o, struct errmsg *err)
{
    struct download d = {
        .options = o,
        .t = { .stall = o->stall, .on_body = on_body, .on_time = on_time },
        .total = -1,
        .why = err,
        .began_ms = clock_ms(),
    };
    int rc;

    d.said_ms = d.began_ms;
    d.t.arg = &d;
    snprintf(d.part, sizeof(d.part), "%s.part", o->base);
    snprintf(d.state, sizeof(d.state), "%s.state", o->base);
    d.t.curl = curl_easy_init();
    if (d.t.curl == NULL) {
        return errmsg_set(err, "no memory");
    }
    rc = open_part(&d, err) == -1 ? -1 : try_all(&d, err);
    if (d.fd != -1) {
        close(d.fd);
    }
    curl_easy_cleanup(d.t.curl);
    return rc;
}
