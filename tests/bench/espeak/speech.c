/*
 * Times of a text on three ways to its sound: the bare library, the program
 * espeak-ng, a server of speech over HTTP.
 *
 *   bench-speech VOICE TEXT-FILE PORT
 *
 * Orders come on standard input, a line each; each is answered by a line
 * "FIRST WHOLE CPU BYTES": microseconds to the first samples, to the end, of
 * processor time (of this process, 0 where others work), and bytes of sound.
 *
 *   library            the library to its end
 *   begin              the library to its first samples, which ends it
 *   program            espeak-ng --stdout, from its start to its end
 *   http PATH FILE     POST of that file's bytes, over one connection
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 * (It is linked with libespeak-ng.  It is not installed.)
 */
#include <arpa/inet.h>
#include <espeak-ng/speak_lib.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEADER 44 /* bytes of a WAV file before its first sample */
#define FILE_MAX (1 << 20)
#define HEAD_MAX 8192

struct figures {
    int64_t begin, first, whole, cpu; /* us; begin: of the clock */
    int64_t bytes;
};

static char *voice, *text_file;
static uint16_t port;
static char text[FILE_MAX + 1], body[FILE_MAX + 1];
static struct figures now;
static bool only_begin;

static int64_t
clock_us(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t
since_begin(void)
{
    return clock_us(CLOCK_MONOTONIC) - now.begin;
}

static void
fail(const char *what)
{
    perror(what);
    exit(1);
}

static size_t
load(const char *path, char *to)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n;

    if (fd == -1) {
        fail(path);
    }
    while ((n = read(fd, to + len, FILE_MAX - len)) > 0) {
        len += (size_t)n;
    }
    close(fd);
    to[len] = '\0';
    return len;
}

/* ---- the library ---- */

static int
on_samples(short *samples, int n, espeak_EVENT *events)
{
    (void)events;
    if (samples != NULL && n > 0) {
        now.first = now.first > 0 ? now.first : since_begin();
        now.bytes += n * 2;
        return only_begin;
    }
    return 0;
}

static void
start_library(void)
{
    if (espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 100, NULL,
                          espeakINITIALIZE_DONT_EXIT) <= 0 ||
        espeak_SetVoiceByName(voice) != EE_OK) {
        fprintf(stderr, "the library has no voice %s\n", voice);
        exit(1);
    }
    espeak_SetSynthCallback(on_samples);
}

static void
ask_library(void)
{
    int64_t cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);

    now.begin = clock_us(CLOCK_MONOTONIC);
    espeak_Synth(text, strlen(text) + 1, 0, POS_CHARACTER, 0, espeakCHARS_UTF8,
                 NULL, NULL);
    now.whole = since_begin();
    now.cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

/* ---- the program ---- */

static void
ask_program(void)
{
    char name[] = "espeak-ng", out[] = "--stdout", v[] = "-v", f[] = "-f";
    char *const arguments[] = { name, out, v, voice, f, text_file, NULL };
    posix_spawn_file_actions_t actions;
    char part[65536];
    int ends[2], status;
    ssize_t n;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) == -1) {
        fail("pipe");
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    now.begin = clock_us(CLOCK_MONOTONIC);
    if (posix_spawnp(&pid, "espeak-ng", &actions, NULL, arguments, environ) !=
        0) {
        fail("espeak-ng");
    }
    close(ends[1]);
    while ((n = read(ends[0], part, sizeof(part))) > 0) {
        now.bytes += n;
        if (now.first == 0 && now.bytes > HEADER) {
            now.first = since_begin();
        }
    }
    waitpid(pid, &status, 0);
    now.whole = since_begin();
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
}

/* ---- the server ---- */

struct answer {
    int64_t left; /* bytes of the body or chunk; -1: a chunk's head is due */
    bool chunked, whole;
    char line[32]; /* of a chunk's head */
    size_t line_len;
};

static int
connection(void)
{
    static int s = -1;
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1;

    if (s == -1) {
        s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(s, (struct sockaddr *)&to, sizeof(to)) == -1) {
            fail("connect");
        }
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return s;
}

static void
count(int64_t n)
{
    now.bytes += n;
    if (now.first == 0 && now.bytes > HEADER) {
        now.first = since_begin();
    }
}

/* A byte of a chunk's head, or of the line end behind a chunk. */
static void
take_head_byte(struct answer *a, char c)
{
    if (c != '\n') {
        if (c != '\r' && a->line_len + 1 < sizeof(a->line)) {
            a->line[a->line_len++] = c;
        }
        return;
    }
    if (a->line_len > 0) {
        a->line[a->line_len] = '\0';
        a->left = strtoll(a->line, NULL, 16);
        a->whole = a->left == 0;
        a->line_len = 0;
    }
}

static void
take(struct answer *a, const char *data, int64_t n)
{
    while (n > 0 && !a->whole) {
        int64_t part = n < a->left ? n : a->left;

        if (a->left == -1) {
            take_head_byte(a, *data);
            part = 1;
        } else {
            count(part);
            a->left -= part;
            a->whole = a->left == 0 && !a->chunked;
            a->left = a->left == 0 && a->chunked ? -1 : a->left;
        }
        data += part;
        n -= part;
    }
}

/* The head of the answer: 200, and how the body ends.  What it has of the body
 * is taken. */
static void
take_head(int s, struct answer *a)
{
    char head[HEAD_MAX + 1];
    size_t len = 0;
    char *end = NULL;
    const char *length;

    while (end == NULL && len < HEAD_MAX) {
        ssize_t n = recv(s, head + len, HEAD_MAX - len, 0);

        if (n <= 0) {
            fail("the server answers nothing");
        }
        len += (size_t)n;
        head[len] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    if (end == NULL ||
        strncmp(head + strspn(head, "\r\n"), "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "the server answers %s\n", head);
        exit(1);
    }
    length = strcasestr(head, "content-length: ");
    a->chunked = length == NULL || length > end;
    a->left = a->chunked ? -1 : strtoll(length + 16, NULL, 10);
    take(a, end + 4, head + len - (end + 4));
}

/* The empty line behind the last chunk may stay in the socket: take_head()
 * skips it. */
static void
ask_server(const char *path, const char *file)
{
    struct answer a = { 0 };
    size_t n = load(file, body);
    char head[512];
    char part[65536];
    int s = connection();
    int len = snprintf(head, sizeof(head),
                       "POST %s HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n",
                       path, n);
    struct iovec iov[2] = { { head, (size_t)len }, { body, n } };
    struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

    now.begin = clock_us(CLOCK_MONOTONIC);
    if (sendmsg(s, &m, 0) != len + (ssize_t)n) {
        fail("send");
    }
    take_head(s, &a);
    while (!a.whole) {
        ssize_t got = recv(s, part, sizeof(part), 0);

        if (got <= 0) {
            fail("the answer broke off");
        }
        take(&a, part, got);
    }
    now.whole = since_begin();
}

/* ---- orders ---- */

static void
obey(const char *order)
{
    char path[256], file[256];

    now = (struct figures){ 0 };
    only_begin = strcmp(order, "begin\n") == 0;
    if (only_begin || strcmp(order, "library\n") == 0) {
        ask_library();
    } else if (strcmp(order, "program\n") == 0) {
        ask_program();
    } else if (sscanf(order, "http %255s %255s", path, file) == 2) {
        ask_server(path, file);
    } else {
        fprintf(stderr, "no such order: %s", order);
        exit(1);
    }
    printf("%lld %lld %lld %lld\n", (long long)now.first, (long long)now.whole,
           (long long)now.cpu, (long long)now.bytes);
    fflush(stdout);
}

int
main(int count_of, char **arguments)
{
    char order[1024];

    if (count_of != 4) {
        fprintf(stderr, "bench-speech VOICE TEXT-FILE PORT\n");
        return 1;
    }
    voice = arguments[1];
    text_file = arguments[2];
    port = (uint16_t)strtoul(arguments[3], NULL, 10);
    load(text_file, text);
    start_library();
    while (fgets(order, sizeof(order), stdin) != NULL) {
        obey(order);
    }
    return 0;
}
