/*
 * The program that this stands for (an engine, weir-fetch, weir-speaker), and
 * the report: a letter for each way.
 *
 * The test writes the settings into the binary.  weir-speaker says no more than
 * a line, so each of several that run beside each other tells its part.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE_S 5 /* a way takes no longer */
#define PART 110 /* letters of a line */

static volatile char settings[4096] = "THE SETTINGS OF THE TEST:\n";

static const struct way *const kinds[] = {
    ways_of_sockets,   ways_of_sends,   ways_of_files, ways_of_open,
    ways_of_processes, ways_of_machine, ways_of_left,
};
static pid_t started_by;

/* ---- settings ---- */

const char *
told(const char *name)
{
    static char found[8][256];
    static int next;
    const char *at = (const char *)settings;
    size_t len = strlen(name);
    char *to = found[next++ % 8];

    to[0] = '\0';
    while ((at = strchr(at, '\n')) != NULL) {
        at++;
        if (strncmp(at, name, len) == 0 && at[len] == '=') {
            at += len + 1;
            snprintf(to, 256, "%.*s", (int)strcspn(at, "\n"), at);
            break;
        }
    }
    return to;
}

int
number(const char *name)
{
    return (int)strtol(told(name), NULL, 10);
}

const char *
path_in(const char *folder, const char *name)
{
    static char path[4][512];
    static int next;
    char *to = path[next++ % 4];

    snprintf(to, 512, "%s/%s", told(folder), name);
    return to;
}

int
proxy_port(void)
{
    const char *proxy = getenv("http_proxy");

    return proxy == NULL ? 0 : (int)strtol(strrchr(proxy, ':') + 1, NULL, 10);
}

pid_t
parent(void)
{
    return started_by;
}

/* ---- the report ---- */

/* "0": it got out. */
static char
letter(int why)
{
    static const struct {
        int why;
        char letter;
    } all[] = {
        { 0, '0' },        { EPERM, 'p' },        { EACCES, 'a' },
        { ENOSYS, 's' },   { EAFNOSUPPORT, 'n' }, { EPROTONOSUPPORT, 'q' },
        { EINVAL, 'i' },   { EBADF, 'b' },        { EXDEV, 'x' },
        { ENOENT, 'f' },   { EISCONN, 'c' },      { EOPNOTSUPP, 'o' },
        { ENOTCONN, 'd' }, { ESRCH, 'r' },        { EFAULT, 't' },
        { EEXIST, 'e' },   { NOT_HERE, 'z' },     { ENOTTY, 'y' },
        { EPIPE, 'u' },    { EBUSY, 'v' },        { ECONNABORTED, 'w' },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].why == why) {
            return all[i].letter;
        }
    }
    return '?';
}

/* "k": it was killed; "h": it hangs. */
static char
try_one(const struct way *w)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        int why;

        alarm(told("late")[0] != '\0' ? (unsigned)number("late") : LATE_S);
        why = w->go();
        _exit(letter(why));
    }
    if (child == -1 || waitpid(child, &status, 0) != child) {
        return '!';
    }
    return WIFEXITED(status)             ? (char)WEXITSTATUS(status)
           : WTERMSIG(status) == SIGALRM ? 'h'
                                         : 'k';
}

/* As many as were tried. */
static void
try_all(char *report, size_t from, size_t to)
{
    size_t at = 0;

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (const struct way *w = kinds[k]; w->name != NULL; w++, at++) {
            if (at >= from && at < to) {
                *report++ = try_one(w);
            }
        }
    }
    *report = '\0';
}

static void
print_names(void)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (const struct way *w = kinds[k]; w->name != NULL; w++) {
            puts(w->name);
        }
    }
}

/* ---- what it stands for ---- */

static bool
has(char **argv, const char *word)
{
    while (*argv != NULL && strcmp(*argv, word) != 0) {
        argv++;
    }
    return *argv != NULL;
}

/* The size of its pool says which part is its own, from 1 on. */
static int
be_speaker(char **argv)
{
    char text[64 + PART], report[PART + 1];
    size_t part;

    if (told("port")[0] == '\0') {
        for (;;) {
            pause(); /* its time has not come yet */
        }
    }
    while (strcmp(*argv, "--pool") != 0) {
        argv++;
    }
    part = strtoul(argv[1], NULL, 10);
    try_all(report, (part - 1) * PART, part * PART);
    snprintf(text, sizeof(text), "failed part %zu %s end", part, report);
    send(3, text, strlen(text), 0);
    return 1;
}

static int
be_engine(char **argv, int argc)
{
    static char report[4096];
    FILE *f;

    if (has(argv, "--version")) {
        puts("1.0");
        return 0;
    }
    if (has(argv, "--dump-single-json") || has(argv, "--extract")) {
        printf("{\"id\": \"film\", \"title\": \"film\", \"ext\": \"txt\", "
               "\"url\": \"%s\", \"webpage_url\": \"%s\"}\n",
               argv[argc - 1], argv[argc - 1]);
        return 0;
    }
    try_all(report, 0, sizeof(report));
    f = fopen("media.txt", "w");
    if (f == NULL) {
        return 1;
    }
    fprintf(f, "all %s end\n", report);
    fclose(f);
    puts("F|media.txt");
    return 0;
}

int
main(int argc, char **argv)
{
    started_by = getppid();
    prctl(PR_SET_NAME, told("tag"));
    if (has(argv, "--does-nothing")) {
        return 0; /* a copy of it was executed */
    }
    if (has(argv, "--names")) {
        print_names();
        return 0;
    }
    /* by the loader, from a file that it wrote itself */
    if (has(argv, "--connect")) {
        union address to;
        socklen_t size = to_inet(&to, "127.0.0.1", number("port"));
        int fd = tcp();

        return fd == -1 ? errno : judge(connect(fd, &to.any, size));
    }
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    return strcmp(told("place"), "speaker") == 0 ? be_speaker(argv)
                                                 : be_engine(argv, argc);
}
