/*
 * weir: options, and what to do about them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/alone.h"
#include "app/control/control.h"
#include "app/master/master.h"
#include "app/master/trial.h"
#include "app/metrics/metrics.h"
#include "app/module.h"
#include "app/settings/settings.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/places.h"
#include "config.h"
#include "proc/life.h"

#define EXIT_USAGE 2

struct options {
    int action; /* letter of the option that says what to do; 0: run */
    const char *file;
    const char *prefix;
    const char *signal;
    struct alone alone; /* options of a module, if it is to run alone */
};

static const char usage[] =
    "usage: weir [-c FILE] [-p PREFIX] [-t | -T | -s SIGNAL]\n"
    "       weir -K | -M | -C | -V | -v | -h\n";

static const char own_options[] =
    "\n"
    "  -c, --config FILE    configuration (%s)\n"
    "  -p, --prefix PREFIX  directory that relative paths stand on (the "
    "current "
    "one)\n"
    "  -t, --test           check the configuration and end\n"
    "  -T, --print          print the configuration in force, defaults filled "
    "in\n"
    "  -s, --signal SIGNAL  tell the running weir: stop, quit, reopen, reload\n"
    "  -K, --keys           print every key of the configuration\n"
    "  -M, --metrics        print every metric\n"
    "  -C, --commands       print every command of the control socket\n"
    "  -V, --build          print how this weir was built, and its modules\n"
    "  -v, --version        print the version\n"
    "  -h, --help           print this\n";

static const struct option names[] = {
    { "config", required_argument, NULL, 'c' },
    { "prefix", required_argument, NULL, 'p' },
    { "test", no_argument, NULL, 't' },
    { "print", no_argument, NULL, 'T' },
    { "signal", required_argument, NULL, 's' },
    { "keys", no_argument, NULL, 'K' },
    { "metrics", no_argument, NULL, 'M' },
    { "commands", no_argument, NULL, 'C' },
    { "build", no_argument, NULL, 'V' },
    { "version", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};
static const struct alone_own own = { "c:p:s:tTKMCVvh", names };

static void
print_usage(FILE *out)
{
    fputs(usage, out);
    alone_print_usage(modules, out);
    fprintf(out, own_options, places_conf);
    alone_print_options(modules, out);
}

static int
wrong(const char *what, const char *which)
{
    fprintf(stderr, "weir: %s%s\n", what, which);
    print_usage(stderr);
    return EXIT_USAGE;
}

static int
parse_options(int argc, char **argv, struct options *o)
{
    int c;

    *o = (struct options){ .file = NULL };
    alone_init(&o->alone, modules, &own, argc, argv);
    while ((c = getopt_long(argc, argv, o->alone.letters, o->alone.names,
                            NULL)) != -1) {
        if (c == '?') {
            print_usage(stderr); /* getopt has said what is wrong */
            return EXIT_USAGE;
        }
        if (alone_take(&o->alone, c, optarg)) {
            continue;
        }
        if (c == 'c') {
            o->file = optarg;
        } else if (c == 'p') {
            o->prefix = optarg;
        } else if (o->action != 0 && o->action != c) {
            return wrong("two options that tell what to do", "");
        } else {
            o->action = c;
            o->signal = c == 's' ? optarg : NULL;
        }
    }
    if (optind < argc) {
        return wrong("an argument too many: ", argv[optind]);
    }
    if (o->file != NULL && o->alone.of != NULL) {
        return wrong("two configurations: -c and --",
                     o->alone.of->options[0].name);
    }
    return EXIT_DONE;
}

/* The file, or what stands in its place. */
static int
choose_file(struct options *o)
{
    struct errmsg err;

    if (o->alone.of == NULL) {
        o->file = o->file != NULL ? o->file : places_conf;
        return EXIT_DONE;
    }
    o->file = alone_use(&o->alone, o->prefix != NULL, &err);
    if (o->file == NULL) {
        fprintf(stderr, "weir: %s\n", err.text);
        return EXIT_WRONG;
    }
    return EXIT_DONE;
}

/* ---- what the configuration is needed for ---- */

static struct conf *
load(const char *file)
{
    char *mistakes = NULL;
    struct conf *c = settings_load(file, &mistakes);

    if (c == NULL) {
        fputs(mistakes, stderr);
        mem_free(&mistakes);
    }
    return c;
}

/* Whether its files and addresses can be opened, by us or by the weir that runs
 * on it. */
static int
try_to_open(const struct settings *s)
{
    struct errmsg ignored;
    char *mistakes;
    pid_t running = pidfile_read(s->pid.ptr, &ignored);

    if (trial_open(s, trial_ask_system, &running, &mistakes) == -1) {
        fputs(mistakes, stderr);
        mem_free(&mistakes);
        return -1;
    }
    return 0;
}

static int
check(const struct options *o)
{
    struct conf *c = load(o->file);
    int status = EXIT_DONE;

    if (c == NULL) {
        return EXIT_WRONG;
    }
    if (o->action == 'T') {
        conf_print(c, stdout);
    } else if (try_to_open(settings_of(c)) == -1) {
        status = EXIT_WRONG;
    } else {
        settings_warn(settings_of(c));
        printf("%s: ok\n", o->file);
    }
    conf_free(&c);
    return status;
}

/* Where there is one module, weir is of no use without it. */
static int
check_alone(const struct options *o)
{
    struct conf *c = load(o->file);
    char *mistakes = c != NULL ? trial_there(settings_of(c)) : NULL;
    bool good = c != NULL && mistakes == NULL;

    if (mistakes != NULL) {
        fputs(mistakes, stderr);
    }
    mem_free(&mistakes);
    conf_free(&c);
    return good ? EXIT_DONE : EXIT_WRONG;
}

static int
send_signal(const struct options *o)
{
    static const struct {
        const char *word;
        int number;
    } words[] = { { "stop", SIGTERM },
                  { "quit", SIGQUIT },
                  { "reopen", SIGUSR1 },
                  { "reload", SIGHUP },
                  { NULL, 0 } };
    int number = 0;

    for (size_t i = 0; words[i].word != NULL; i++) {
        if (strcmp(words[i].word, o->signal) == 0) {
            number = words[i].number;
        }
    }
    if (number == 0) {
        return wrong("-s takes stop, quit, reopen or reload, not ", o->signal);
    }
    struct conf *c = load(o->file);
    struct errmsg err;
    int status = EXIT_DONE;

    if (c == NULL) {
        return EXIT_WRONG;
    }
    if (master_signal(settings_of(c)->pid.ptr, number, &err) == -1) {
        fprintf(stderr, "weir: %s\n", err.text);
        status = EXIT_NO_START;
    }
    conf_free(&c);
    return status;
}

/* ---- what it is not needed for ---- */

/* By where they stand in the file; those of a module beside it in a layer. */
static void
print_keys(void)
{
    char place[128];

    conf_print_keys(settings_rows(), "", stdout);
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->keys != NULL) {
            snprintf(place, sizeof(place), "http.servers.locations[%s]",
                     modules[i]->name);
            conf_print_keys(modules[i]->keys, place, stdout);
        }
    }
}

static void
print_build(void)
{
    printf("weir %s\n", WEIR_VERSION);
    printf("compiler:  %s\n", WEIR_COMPILER);
    printf("flags:     %s\n", WEIR_CFLAGS);
    printf("configure: %s\n", WEIR_CONFIGURE);
#ifdef WEIR_LIBRARIES
    printf("libraries: %s\n", WEIR_LIBRARIES);
#endif
    printf("paths:     %s, %s, %s, %s\n", places_conf, places_pid,
           places_control, places_database);
    printf("modules:\n");
    for (size_t i = 0; modules[i] != NULL; i++) {
        printf("  %-10s %s\n", modules[i]->name, modules[i]->about);
    }
}

static void
print_metrics(void)
{
    metrics_register(modules);
    metrics_list(stdout);
}

/* Whether what is to be done needs the configuration. */
static bool
is_for_file(int action)
{
    return action == 0 || strchr("tTs", action) != NULL;
}

/* Otherwise the next opened files get their numbers, and output to standard
 * error goes there. */
static void
fill_standard_descriptors(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd != -1 && fd <= STDERR_FILENO);
    if (fd != -1) {
        close(fd);
    }
}

int
main(int argc, char **argv)
{
    struct errmsg err;
    struct options o;
    int status;

    heap_tune();
    fill_standard_descriptors();
    status = parse_options(argc, argv, &o);
    if (status != EXIT_DONE) {
        return status;
    }
    if (module_check_table(modules, &control_own_names, &err) == -1) {
        fprintf(stderr, "weir: %s\n", err.text);
        return EXIT_NO_START;
    }
    if (o.prefix != NULL && chdir(o.prefix) == -1) {
        perror("weir: cannot use the directory of -p");
        return EXIT_WRONG;
    }
    if (is_for_file(o.action) && choose_file(&o) != EXIT_DONE) {
        return EXIT_WRONG;
    }
    switch (o.action) {
    case 't':
    case 'T':
        return check(&o);
    case 's':
        return send_signal(&o);
    case 'K':
        print_keys();
        break;
    case 'M':
        print_metrics();
        break;
    case 'C':
        control_print_commands(stdout);
        break;
    case 'V':
        print_build();
        break;
    case 'v':
        printf("weir %s\n", WEIR_VERSION);
        break;
    case 'h':
        print_usage(stdout);
        break;
    default:
        if (o.alone.of != NULL && check_alone(&o) != EXIT_DONE) {
            return EXIT_WRONG;
        }
        title_init(argc, argv);
        return master_run(o.file, modules, &control_for_master);
    }
    return EXIT_DONE;
}
