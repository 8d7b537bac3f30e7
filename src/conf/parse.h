/*
 * Handing the tokens of a source to libconfig.
 *
 *   lex.c    tokens
 *   parse.c  to libconfig
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_PARSE_H
#define CONF_PARSE_H

#include <libconfig.h>

#include "conf/source.h"

/* Parses into *tree (to be given to config_destroy() in any case).  Keys
 * set twice are marked and get other names; a syntax error is noted, and -1
 * returned. */
int conf_parse(struct source *s, config_t *tree);

/* The token of a setting: its name, or its value in a list. */
size_t conf_token(const struct source *s, const config_setting_t *c);
/* The last token of its value, if that is a single one. */
size_t conf_value_token(const struct source *s, const config_setting_t *c);

#endif
