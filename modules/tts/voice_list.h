/*
 * The list of an instance's voices in a worker, as JSON.
 *
 * It waits for the speaker, keeps the list that it gives, and is told each
 * later one.  So the worker has the newest list that there was while no speaker
 * answers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_VOICE_LIST_H
#define MODULES_TTS_VOICE_LIST_H

#include "tts.h"

struct voice_list;

/* Asks at once.  The instance's name is borrowed. */
struct voice_list *voice_list_new(struct loop *l, struct str instance);
void voice_list_free(struct voice_list **v);
/* STR_NONE: there never was one.  Borrowed for this turn of the loop, as is
 * *tag, its digest. */
struct str voice_list_get(const struct voice_list *v, struct str *tag);
/* Asks the speaker whether there is another one: a call whose answer goes to
 * voice_list_take().  With `wait` it is answered when there is one.  NULL with
 * err. */
struct rpc_call *voice_list_ask(const struct voice_list *v,
                                const struct rpc_options *o, bool wait,
                                struct errmsg *err);
/* Keeps what came.  -1 with err: it is no list, nor the word that there is no
 * other one. */
int voice_list_take(struct voice_list *v, const struct rpc_answer *got,
                    struct errmsg *err);

#endif
