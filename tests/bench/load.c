/*
 * weir-load: publishes streams, plays them in great numbers, serves them by the
 * barest of loops, and opens sockets in great numbers, to measure what a server
 * costs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bareloop.h"
#include "options.h"
#include "players.h"
#include "publisher.h"
#include "sockets.h"
#include "watchers.h"

int
main(int argc, char **argv)
{
    struct options o;

    options_parse(&o, argc, argv);
    switch (o.mode) {
    case MODE_PUBLISH:
        return publisher_run(&o);
    case MODE_PLAY:
    case MODE_IDLE:
        return players_run(&o);
    case MODE_BARE:
        return bareloop_run(&o);
    case MODE_SOCKETS:
        return sockets_run(&o);
    case MODE_WATCH:
        return watchers_run(&o);
    }
    return 2;
}
