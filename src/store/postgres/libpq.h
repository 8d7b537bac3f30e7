/*
 * libpq, loaded when the store is on a server: it brings two dozen libraries
 * along (LDAP, Kerberos, GnuTLS...) that a weir with SQLite shall not have in
 * its processes.
 *
 * Its functions are members here, without their PQ: libpq.socket(c).  Call
 * libpq_load() first; the check of a conninfo does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_LIBPQ_H
#define STORE_POSTGRES_LIBPQ_H

#include <libpq-fe.h>

#include "base/errmsg.h"

/* clang-format off */
#define LIBPQ_FUNCTIONS(X) \
    X(clear) X(cmdStatus) X(cmdTuples) X(connectPoll) X(connectStartParams) \
    X(conninfoFree) X(conninfoParse) X(consumeInput) X(enterPipelineMode) \
    X(errorMessage) X(finish) X(flush) X(freemem) X(ftype) X(getResult) \
    X(getisnull) X(getlength) X(getvalue) X(isBusy) X(nfields) X(notifies) \
    X(ntuples) X(pipelineStatus) X(pipelineSync) X(resultErrorField) \
    X(resultStatus) X(sendPrepare) X(sendQuery) X(sendQueryParams) \
    X(sendQueryPrepared) X(setErrorVerbosity) X(setNoticeProcessor) \
    X(setSingleRowMode) X(setnonblocking) X(socket) X(status) \
    X(transactionStatus)
/* clang-format on */

struct libpq {
#define LIBPQ_MEMBER(name) __typeof__(PQ##name) *name;
    LIBPQ_FUNCTIONS(LIBPQ_MEMBER)
#undef LIBPQ_MEMBER
};

extern struct libpq libpq;

/* Once in a process, before it enters its sandbox; children inherit it from the
 * master. -1 with err: libpq is not installed. */
int libpq_load(struct errmsg *err);

#endif
