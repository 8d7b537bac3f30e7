/*
 * Fuzz target: what ${...} in a text of the configuration stands for.
 *
 * The input is a byte of flags and a text.  A text without "${" stays as it
 * is; what is escaped comes back; a mistake is told in words, and only then is
 * the text refused; the default of a secret is shown nowhere; no more is put in
 * than there is room for.
 *
 * covers: src/conf/expand.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <stdio.h>
#include <sys/stat.h>

#include "conf/expand.h"

#define ROOM 200

static char directory[] = "/tmp/weir-expand-fuzz-XXXXXX";

static void
write_file(const char *name, const char *text, size_t len)
{
    FILE *f = fopen(name, "w");

    require(f != NULL && fwrite(text, 1, len, f) == len && fclose(f) == 0);
    require(chmod(name, name[0] == 'o' ? 0644 : 0640) == 0);
}

static void
clean_up(void)
{
    int home;

    go_to(directory, &home);
    unlink("a");
    unlink("open");
    unlink("large");
    unlink("nul");
    go_home(home);
    rmdir(directory);
}

static void
set_up(void)
{
    static char large[EXPAND_FILE_MAX + 1];
    int home;

    require(mkdtemp(directory) != NULL);
    go_to(directory, &home);
    clearenv();
    setenv("A", "one", 1);
    setenv("EMPTY", "", 1);
    setenv("LONG_NAME", "${env:A}", 1);
    write_file("a", "in a file\n", 10);
    write_file("open", "to all", 6);
    write_file("large", large, sizeof(large));
    write_file("nul", "\0", 1);
    go_home(home);
    atexit(clean_up);
}

static void
on_mistake(void *arg, const char *text)
{
    size_t *count = arg;

    require(text[0] != '\0');
    ++*count;
}

/* A path that leads out of the directory comes to something else each time. */
static bool
leads_out(struct str text)
{
    return str_find(text, '/', 0) < text.len ||
           memmem(text.ptr, text.len, "..", 2) != NULL;
}

/* No default is told. */
static void
check_hidden(struct str sources)
{
    const char *at;

    while ((at = memmem(sources.ptr, sources.len, ":-", 2)) != NULL) {
        sources = str_skip(sources, (size_t)(at - sources.ptr));
        require(str_starts(sources, STR(":-***}")));
        sources = str_skip(sources, 2);
    }
}

static void
check(struct str text, bool secret, bool dollars)
{
    size_t mistakes = 0;
    struct expansion e = { .secret = secret,
                           .dollars = dollars,
                           .room = ROOM,
                           .mistake = on_mistake,
                           .arg = &mistakes };
    int rc = expand(&e, text);

    require((rc == -1) == (mistakes > 0));
    require(e.room <= ROOM && buf_len(&e.text) <= text.len + ROOM - e.room);
    if (memmem(text.ptr, text.len, "${", 2) == NULL) {
        require(rc == 0 && str_eq(buf_str(&e.text), text));
    }
    if (buf_len(&e.sources) == 0) {
        require(e.room == ROOM && buf_len(&e.text) <= text.len);
    }
    if (secret && memmem(text.ptr, text.len, "file:", 5) == NULL) {
        check_hidden(buf_str(&e.sources));
    }
    expand_clear(&e);
}

/* Whatever the text, there is one that comes to it. */
static void
check_escape(struct str text)
{
    size_t mistakes = 0;
    struct expansion e = { .room = ROOM,
                           .mistake = on_mistake,
                           .arg = &mistakes };
    struct buf escaped;

    buf_init(&escaped, SIZE_MAX / 2);
    expand_escape(text, &escaped);
    require(expand(&e, buf_str(&escaped)) == 0 && mistakes == 0);
    require(str_eq(buf_str(&e.text), text) && buf_len(&e.sources) == 0);
    buf_clear(&escaped);
    expand_clear(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    struct str text = str_of(data, size);
    unsigned flags = take_byte(&text);
    int home;

    if (!ready) {
        set_up();
        ready = true;
    }
    check_escape(text);
    if (!leads_out(text)) {
        go_to(directory, &home);
        check(text, (flags & 1) != 0, (flags & 2) != 0);
        go_home(home);
    }
    return 0;
}
