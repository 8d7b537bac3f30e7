/*
 * weir-supervisor: a process around each run of an engine.
 *
 * weir's starter executes it, as the leader of a session.  It gives up what the
 * engine must not have, starts it as a group of its own, hands SIGINT on,
 * waits, and leaves nothing behind.  It dies with the starter, and the engine
 * with it.
 *
 *   main.c          the command line
 *   supervise.[ch]  the engine's process, signals, what it leaves
 *   hear.c          calls that the engine's filter hands on
 *   connect.c       ... socket() and connect() among them
 *   signal.c        ... those that signal
 *   measure.c       what it has written
 *   tell.c          facts for the fetcher
 *   confine.c       what none of them can do
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "config.h"
#include "sanitized.h"
#include "supervise.h"

#define EXIT_USAGE 2

static const char help[] =
    "usage: weir-supervisor [--writes FD] [--port N] [--beside FD]\n"
    "                       [--tells FD] [--max-files N] [--max-bytes N]\n"
    "                       -- PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs a program of weir, which starts it; it is of no use by itself.\n"
    "\n"
    "  --writes FD  the open folder that it runs in and writes below [none];\n"
    "               HOME and TMPDIR are \".\"\n"
    "  --port N     the TCP port that it connects to [none]\n"
    "  --beside FD  the open folder that PROGRAM lies in [none]\n"
    "  --tells FD   the pipe on which it says what became of the run [none]\n"
    "  --max-files N, --max-bytes N\n"
    "               how much may lie in its folder [any]\n"
    "  PROGRAM      an absolute path; with --beside, one from there\n"
    "  -v, --version\n"
    "               this program's version\n"
    "  -h, --help   this text\n"
    "\n"
    "Ends with PROGRAM's status, 128 + N when signal N ended it, 127 when it\n"
    "could not be executed, 2 where these options are wrong, 125 when "
    "something\n"
    "else was wrong.\n";

static int
usage(const char *why)
{
    fprintf(stderr, "weir-supervisor: %s\n%s", why, help);
    return EXIT_USAGE;
}

static bool
take_number(const char *text, int64_t most, int64_t *out)
{
    return str_to_int(str_from(text), 1, most, out);
}

/* -1: go on; else the exit status. */
static int
take_options(int argc, char **argv, struct supervise *s)
{
    static const struct option names[] = {
        { "writes", required_argument, NULL, 'w' },
        { "port", required_argument, NULL, 'p' },
        { "beside", required_argument, NULL, 'b' },
        { "tells", required_argument, NULL, 't' },
        { "max-files", required_argument, NULL, 'f' },
        { "max-bytes", required_argument, NULL, 'm' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int64_t folder = -1, port = 0, beside = AT_FDCWD, tells = 0;
    int option;

    while ((option = getopt_long(argc, argv, "+vh", names, NULL)) != -1) {
        if (option == 'v') {
            printf("weir-supervisor %s\n", WEIR_VERSION);
            return EXIT_SUCCESS;
        }
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (!(option == 'w' && take_number(optarg, 1024, &folder)) &&
            !(option == 'p' && take_number(optarg, UINT16_MAX, &port)) &&
            !(option == 'b' && take_number(optarg, 1024, &beside)) &&
            !(option == 't' && take_number(optarg, 1024, &tells)) &&
            !(option == 'f' && take_number(optarg, INT64_MAX, &s->max_files)) &&
            !(option == 'm' && take_number(optarg, INT64_MAX, &s->max_bytes))) {
            return usage("unknown option, or a number that is out of range");
        }
    }
    s->folder = (int)folder;
    s->port = (uint16_t)port;
    s->beside = (int)beside;
    s->tells = (int)tells;
    s->argv = argv + optind;
    return -1;
}

int
main(int argc, char **argv)
{
    struct supervise s = { .folder = -1,
                           .beside = AT_FDCWD,
                           .max_files = INT64_MAX };
    int status = take_options(argc, argv, &s);

    if (status != -1) {
        return status;
    }
    if (s.argv[0] == NULL || (s.beside == AT_FDCWD && s.argv[0][0] != '/')) {
        return usage("PROGRAM has to be an absolute path");
    }
    return supervise(&s);
}
