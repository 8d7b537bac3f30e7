/*
 * Certificates with which weir comes to servers of upstreams.
 *
 * The master reads them before it forks, while it may read the keys; workers
 * and the prober inherit them.  Those of settings before the last few are
 * forgotten.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_UPSTREAM_IDENTITY_H
#define MODULES_PROXY_UPSTREAM_IDENTITY_H

#include "net/tls_client.h"
#include "upstream_settings.h"

/* Master: those of all upstreams, anew; a file that cannot be read any more is
 * logged, and what was read of it before stays. */
void upstream_identities_learn(const struct settings *s, uint32_t generation);
/* *out is NULL if t wants none.  -1 with err: it was never read. */
int upstream_identity(const struct upstream_tls_settings *t,
                      const struct tls_identity **out, struct errmsg *err);

#endif
