/*
 * weirctl: speaks to the control socket of a running weir.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/control/control.h"
#include "base/mem.h"
#include "base/places.h"
#include "conf/conf.h"
#include "config.h"
#include "weirctl/commands.h"
#include "weirctl/link.h"
#include "weirctl/prompt.h"

#define EXIT_USAGE 2
#define TIMEOUT_MS 60000 /* for what takes no time of its own */

struct options {
    const char *socket, *file, *prefix;
    int64_t timeout_ms; /* -1: not said */
    bool json;
};

static const char usage[] =
    "usage: weirctl [-s SOCKET | -c FILE] [-p PREFIX] [-t SECONDS] [--json]\n"
    "               [COMMAND...]\n"
    "       weirctl -h | -v\n"
    "\n"
    "  -s, --socket SOCKET    the control socket (%s)\n"
    "  -c, --config FILE      or the one that this configuration names\n"
    "  -p, --prefix PREFIX    directory that relative paths stand on (the "
    "current one)\n"
    "  -t, --timeout SECONDS  how long to wait for the answer; 0: for ever\n"
    "  -j, --json             answers in JSON\n"
    "  -v, --version          print the version\n"
    "  -h, --help             print this\n"
    "\n"
    "Without a command: a prompt, or lines of standard input.  \"help\" lists\n"
    "commands.  Exit status: 0 done, 1 failed, 2 cannot connect, or wrong\n"
    "options, 3 denied, 4 no answer in time.\n";

static void
print_usage(FILE *out)
{
    fprintf(out, usage, places_control);
}

static int
wrong(const char *what)
{
    fprintf(stderr, "weirctl: %s\n", what);
    print_usage(stderr);
    return EXIT_USAGE;
}

/* 0: go on; else the status to exit with, plus 1. */
static int
parse_option(struct options *o, int c)
{
    int64_t seconds;

    switch (c) {
    case 's':
        o->socket = optarg;
        return 0;
    case 'c':
        o->file = optarg;
        return 0;
    case 'p':
        o->prefix = optarg;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 't':
        if (!str_to_int(str_from(optarg), 0, INT_MAX / 1000, &seconds)) {
            return 1 + wrong("-t takes whole seconds");
        }
        o->timeout_ms = seconds * 1000;
        return 0;
    case 'v':
        printf("weirctl %s\n", WEIR_VERSION);
        return 1 + ASK_OK;
    case 'h':
        print_usage(stdout);
        return 1 + ASK_OK;
    default:
        print_usage(stderr); /* getopt has said what is wrong */
        return 1 + EXIT_USAGE;
    }
}

static int
parse_options(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        { "socket", required_argument, NULL, 's' },
        { "config", required_argument, NULL, 'c' },
        { "prefix", required_argument, NULL, 'p' },
        { "timeout", required_argument, NULL, 't' },
        { "json", no_argument, NULL, 'j' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c, stop;

    *o = (struct options){ .timeout_ms = -1 };
    /* "+": options of commands are the commands' own. */
    while ((c = getopt_long(argc, argv, "+s:c:p:t:jvh", longs, NULL)) != -1) {
        stop = parse_option(o, c);
        if (stop != 0) {
            return stop;
        }
    }
    return o->socket != NULL && o->file != NULL
               ? 1 + wrong("-s and -c exclude each other")
               : 0;
}

/* ---- which socket ---- */

static int
path_from_file(const struct options *o, char *dst, size_t size)
{
    char *mistakes, *named;

    if (conf_peek(o->file, "control.socket", &named, &mistakes) == -1) {
        fputs(mistakes, stderr);
        mem_free(&mistakes);
        return -1;
    }
    str_copy(dst, size, str_from(named != NULL ? named : places_control));
    mem_free(&named);
    if (*dst == '\0') {
        fprintf(stderr, "weirctl: %s names no control socket\n", o->file);
        return -1;
    }
    return 0;
}

/* The current directory becomes the prefix, as weir has it. */
static int
find_socket(const struct options *o, char *dst, size_t size)
{
    if (o->prefix != NULL && chdir(o->prefix) == -1) {
        perror("weirctl: cannot use the directory of -p");
        return -1;
    }
    if (o->file != NULL) {
        return path_from_file(o, dst, size);
    }
    str_copy(dst, size,
             str_from(o->socket != NULL ? o->socket : places_control));
    return 0;
}

/* ---- commands ---- */

struct session {
    const struct options *o;
    const char *path;
    int status; /* of the first that failed */
};

/* Calls f for each command of a line: what stands between semicolons that are
 * in no quotes. */
static void
each_command(struct str line, void (*f)(void *arg, struct str command),
             void *arg)
{
    bool quoted = false;
    size_t begin = 0;

    for (size_t i = 0; i <= line.len; i++) {
        bool end = i == line.len || (line.ptr[i] == ';' && !quoted);

        if (end) {
            struct str one = str_of(line.ptr + begin, i - begin);

            if (str_trim(one).len > 0) {
                f(arg, str_trim(one));
            }
            begin = i + 1;
        } else if (line.ptr[i] == '"') {
            quoted = !quoted;
        }
    }
}

static void
add_json(void *arg, struct str command)
{
    struct buf *line = arg;

    buf_printf(line, "%s%.*s --json", buf_len(line) > 0 ? " ; " : "",
               STR_ARGS(command));
}

struct look {
    unsigned commands;
    bool patient; /* one of them may take as long as it takes */
};

static void
look_at(void *arg, struct str command)
{
    struct look *l = arg;

    l->commands++;
    l->patient = l->patient || str_starts(command, STR("wait")) ||
                 str_starts(command, STR("stop")) ||
                 str_starts(command, STR("quit")) ||
                 str_starts(command, STR("reload")) ||
                 (str_starts(command, STR("show events")) &&
                  memmem(command.ptr, command.len, " -w", 3) != NULL);
}

static int
help_alone(struct str line)
{
    struct str prefix = str_trim(str_skip(line, strlen("help")));
    int status = ASK_FAILED;

    for (const struct command *c = commands; c->words != NULL; c++) {
        if (str_starts(str_from(c->words), prefix)) {
            printf("%s%s%s\n    %s (%s)\n", c->words,
                   *c->arguments != '\0' ? " " : "", c->arguments, c->help,
                   c->level);
            status = ASK_OK;
        }
    }
    return status;
}

static int
ask(const struct session *s, struct str line)
{
    struct ask a = { .path = s->path, .line = line, .json = s->o->json };
    struct errmsg err = { "" };
    struct look look = { 0, false };
    struct buf json;
    int status;

    buf_init(&json, 2 * CONTROL_LINE_MAX);
    if (s->o->json) {
        each_command(line, add_json, &json);
        a.line = buf_str(&json);
    }
    each_command(line, look_at, &look);
    a.commands = look.commands;
    a.timeout_ms = s->o->timeout_ms != -1 ? s->o->timeout_ms
                   : look.patient         ? 0
                                          : TIMEOUT_MS;
    status = link_ask(&a, &err);
    if (status == ASK_NO_LINK && err.text[0] != '\0' &&
        str_starts(line, STR("help"))) {
        status = help_alone(line);
    } else if (err.text[0] != '\0') {
        link_print_failure(
            s->o->json, status == ASK_DENIED ? STR("denied") : STR("connect"),
            str_from(err.text));
    }
    buf_clear(&json);
    return status;
}

static bool
on_line(void *arg, struct str line)
{
    struct session *s = arg;
    int status;

    line = str_trim(line);
    if (str_eq(line, STR("exit"))) {
        return false;
    }
    status = line.len > 0 ? ask(s, line) : ASK_OK;
    s->status = s->status == ASK_OK ? status : s->status;
    return true;
}

static void
read_lines(struct session *s)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t n;

    while ((n = getline(&text, &size, stdin)) > 0) {
        if (!on_line(s, str_of(text, (size_t)n - (text[n - 1] == '\n')))) {
            break;
        }
    }
    mem_free(&text);
}

/* ---- arguments ---- */

/* The file of "test FILE" is meant from here, not from where weir stands. */
static const char *
absolute(char **words, int count, int i, char *room)
{
    if (count == 2 && i == 1 && strcmp(words[0], "test") == 0 &&
        realpath(words[i], room) != NULL) {
        return room;
    }
    return words[i];
}

/* Words as one line; one with blanks in it is put in quotes, unless it is all
 * there is: then it is a line already. */
static void
join(struct buf *line, char **words, int count)
{
    char room[PATH_MAX];

    for (int i = 0; i < count; i++) {
        const char *word = absolute(words, count, i, room);
        bool quote = count > 1 && strpbrk(word, " \t;") != NULL &&
                     strcmp(word, ";") != 0;

        buf_printf(line, quote ? "%s\"%s\"" : "%s%s", i > 0 ? " " : "", word);
    }
}

int
main(int argc, char **argv)
{
    char path[PATH_MAX];
    struct options o;
    struct buf line;
    struct session s = { .o = &o, .path = path };
    int stop = parse_options(argc, argv, &o);

    if (stop != 0) {
        return stop - 1;
    }
    buf_init(&line, CONTROL_LINE_MAX);
    join(&line, argv + optind, argc - optind);
    if (find_socket(&o, path, sizeof(path)) == -1) {
        s.status = ASK_NO_LINK;
    } else if (optind < argc) {
        on_line(&s, buf_str(&line));
    } else if (isatty(STDIN_FILENO)) {
        prompt_run(on_line, &s);
        s.status = ASK_OK;
    } else {
        read_lines(&s);
    }
    buf_clear(&line);
    return s.status;
}
