/*
 * weir-speaker: text to sound, with libespeak-ng.
 *
 * weir starts it, with two sockets (request.h) and the directories of voices.
 * Its process is a zygote: each request is one child's.
 *
 *   main.c        the command line
 *   zygote.[ch]   the library, the children, the control socket
 *   child.[ch]    one request, from its packet to its end
 *   output.[ch]   the answer's way out: a file in memory, or a pipe
 *   data_files.[ch]   the data directories as one tree
 *   refused.c     what the library would call and must not
 *   synth.[ch]    one synthesis
 *   encoder.[ch]  from samples to the bytes of an answer
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include <espeak-ng/speak_lib.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/str.h"
#include "config.h"
#include "data_files.h"
#include "request.h"
#include "zygote.h"

#define EXIT_USAGE 2

static const char help[] =
    "usage: weir-speaker [--memory BYTES] [--cpu SECONDS] [--pool N] "
    "DIRECTORY...\n"
    "\n"
    "Speaks for weir, which starts it; it is of no use by itself.\n"
    "\n"
    "  --memory BYTES  of addresses of a child, at most; 0: any\n"
    "  --cpu SECONDS   of processor time of a child, at most; 0: any\n"
    "  --pool N        children that wait for a request, 1 to 64 [2]\n"
    "  DIRECTORY       that has espeak-ng-data, voices/ or lang/\n"
    "  -v, --version   this program's version and licence\n"
    "  -h, --help      this text\n";

static const char licence[] =
    "License GPL-3.0-or-later: GNU GPL version 3 or later\n"
    "<https://gnu.org/licenses/gpl.html>, because of libespeak-ng.\n"
    "This is free software; you may change and redistribute it.\n"
    "There is NO WARRANTY, as far as the law permits.\n";

static int
version(void)
{
    printf("weir-speaker %s, espeak-ng %s\n%s", WEIR_VERSION, espeak_Info(NULL),
           licence);
    return EXIT_SUCCESS;
}

static int
usage(const char *why)
{
    fprintf(stderr, "weir-speaker: %s\n%s", why, help);
    return EXIT_USAGE;
}

static int
take_number(const char *text, int64_t most, int64_t *out)
{
    return str_to_int(str_from(text), 0, most, out) ? 0 : -1;
}

/* -1: go on; else the exit status. */
static int
take_options(int argc, char **argv, struct zygote_options *o)
{
    static const struct option names[] = {
        { "memory", required_argument, NULL, 'm' },
        { "cpu", required_argument, NULL, 'c' },
        { "pool", required_argument, NULL, 'p' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option, bad = 0;

    while ((option = getopt_long(argc, argv, "vh", names, NULL)) != -1) {
        switch (option) {
        case 'm':
            bad |= take_number(optarg, (int64_t)1 << 40, &o->memory);
            break;
        case 'c':
            bad |= take_number(optarg, 86400, &o->cpu);
            break;
        case 'p':
            bad |= take_number(optarg, ZYGOTE_POOL, &o->pool);
            break;
        case 'v':
            return version();
        case 'h':
            fputs(help, stdout);
            return EXIT_SUCCESS;
        default:
            return usage("unknown option");
        }
    }
    return bad != 0 || o->pool == 0 ? usage("a number is out of range") : -1;
}

static bool
is_packet_socket(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

int
main(int argc, char **argv)
{
    struct zygote_options o = { .pool = 2 };
    int status = take_options(argc, argv, &o);

    if (status != -1) {
        return status;
    }
    o.directories = (const char *const *)argv + optind;
    o.count = (size_t)(argc - optind);
    if (o.count == 0 || o.count > DATA_DIRS) {
        return usage("needs 1 to 16 directories");
    }
    if (!is_packet_socket(SPEECH_CONTROL) || !is_packet_socket(SPEECH_WORK)) {
        return usage("descriptors 3 and 4 are not weir's sockets");
    }
    return zygote_run(&o);
}
