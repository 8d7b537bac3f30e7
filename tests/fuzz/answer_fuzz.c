/*
 * Fuzz target: weirctl reads what the server of a control socket answers.
 *
 * The first byte says how many answers are waited for, the rest is what comes.
 * Nothing is printed but lines that came; the status is one of those that
 * weirctl has; a failure that came first decides it.
 *
 * covers: src/weirctl/link.c:take_failure,take_line,take_lines,read_answers
 * covers: src/weirctl/link.c:status_of,talk
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../../src/weirctl/link.c"

#include "fuzz.h"

static char *said[2]; /* on standard output and on standard error */
static size_t lens[2];

/* Each line that was printed is one that came, or what we say ourselves. */
static void
look_at(struct str printed, struct str came)
{
    while (printed.len > 0) {
        struct str line = str_cut(&printed, '\n');

        if (str_starts(line, STR("weirctl: "))) {
            line = str_skip(line, strlen("weirctl: "));
            if (str_eq(line, STR("the connection was cut off"))) {
                continue;
            }
        }
        require(line.len == 0 ||
                memmem(came.ptr, came.len, line.ptr, line.len) != NULL);
    }
}

static int
ask(struct str came, unsigned commands)
{
    struct reading r = { .status = ASK_OK };
    struct ask what = { .line = STR("ping"), .commands = commands };
    int fds[2], status;

    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    require(send_all(fds[1], came, 0) == ASK_OK);
    shutdown(fds[1], SHUT_WR);
    buf_init(&r.in, LINE_LIMIT);
    status = talk(fds[0], &what, &r);
    require(status != ASK_OK || r.answers >= commands);
    buf_clear(&r.in);
    close(fds[0]);
    close(fds[1]);
    return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    unsigned commands = take_byte(&input) % 4;
    FILE *ours[2] = { stdout, stderr };
    int status;

    input = str_first(input, 65536); /* what a socket holds at once */
    stdout = open_memstream(&said[0], &lens[0]);
    stderr = open_memstream(&said[1], &lens[1]);
    status = ask(input, commands);
    fclose(stdout);
    fclose(stderr);
    stdout = ours[0];
    stderr = ours[1];
    look_at(str_of(said[0], lens[0]), input);
    look_at(str_of(said[1], lens[1]), input);
    require(status >= ASK_OK && status <= ASK_TIMEOUT);
    if (str_starts(input, STR("ERR denied ")) &&
        str_find(input, '\n', 0) < input.len) {
        require(status == ASK_DENIED);
    }
    free(said[0]);
    free(said[1]);
    return 0;
}
