/*
 * weir-fetch: the engine "direct", one file at an http or https address.
 *
 *   main.c          the command line
 *   fetch.h         download.c, extract.c: what it does
 *   transfer.[ch]   one GET with its redirects
 *   head.[ch]       the head of an answer, names of files
 *
 * It says what yt-dlp says when weir runs that: lines "P|{...}" and "F|NAME",
 * one JSON object for an extraction, "ERROR: ..." on standard error.
 * http_proxy, https_proxy and all_proxy name the proxy.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fetch.h"
#include "sanitized.h"
#include "transfer.h"

#define EXIT_USAGE 2
#define STALL_S 30
#define RETRIES 3

static const char help[] =
    "usage: weir-fetch [options] -- URL\n"
    "\n"
    "Downloads a file into the current folder; goes on with a part that is\n"
    "there if the server still has the same file.\n"
    "\n"
    "  --extract      say as JSON what is there, and download nothing\n"
    "  --output BASE  the file's name without its ending [media]\n"
    "  --max-size N   bytes, at most; 0: any [0]\n"
    "  --stall S      seconds without a byte, at most, 1 to 3600 [30]\n"
    "  --retries N    tries in a row without a byte, 0 to 20 [3]\n"
    "  -v, --version  this program's version\n"
    "  -h, --help     this text\n";

static int
usage(const char *why)
{
    fprintf(stderr, "weir-fetch: %s\n%s", why, help);
    return EXIT_USAGE;
}

static bool
is_base(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
           strlen(name) <= FETCH_BASE_MAX;
}

static bool
take_number(int64_t least, int64_t most, int64_t *out)
{
    return str_to_int(str_from(optarg), least, most, out);
}

/* False: its value is none. */
static bool
take_option(int option, struct fetch_options *o, bool *extract)
{
    switch (option) {
    case 'e':
        *extract = true;
        return true;
    case 'o':
        o->base = optarg;
        return is_base(optarg);
    case 'm':
        return take_number(0, INT64_MAX, &o->max_size);
    case 's':
        return take_number(1, 3600, &o->stall);
    case 'r':
        return take_number(0, 20, &o->retries);
    default:
        return false;
    }
}

static int
run(const struct fetch_options *o, bool extract)
{
    struct errmsg err;
    int rc;

    signal(SIGXFSZ, SIG_IGN); /* then a file that is too large is an error */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        fputs("ERROR: libcurl does not start\n", stderr);
        return EXIT_FAILURE;
    }
    rc = extract ? fetch_extract(o, &err) : fetch_download(o, &err);
    if (rc != 0) {
        fprintf(stderr, "ERROR: %s\n", err.text);
    }
    curl_global_cleanup();
    return rc == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    static const struct option names[] = {
        { "extract", no_argument, NULL, 'e' },
        { "output", required_argument, NULL, 'o' },
        { "max-size", required_argument, NULL, 'm' },
        { "stall", required_argument, NULL, 's' },
        { "retries", required_argument, NULL, 'r' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct fetch_options o = { .base = "media",
                               .stall = STALL_S,
                               .retries = RETRIES };
    bool extract = false;
    int option;

    while ((option = getopt_long(argc, argv, "+vh", names, NULL)) != -1) {
        if (option == 'v') {
            printf("weir-fetch %s (libcurl %s)\n", WEIR_VERSION,
                   curl_version_info(CURLVERSION_NOW)->version);
            return EXIT_SUCCESS;
        }
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (!take_option(option, &o, &extract)) {
            return usage("unknown option, or a value that is not allowed");
        }
    }
    if (argc - optind != 1 || strlen(argv[optind]) > TRANSFER_URL) {
        return usage("needs one address");
    }
    o.url = argv[optind];
    return run(&o, extract);
}
