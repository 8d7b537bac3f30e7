/*
 * GET /openapi.json: an OpenAPI 3.1 document of what a layer serves.
 *
 * What depends on the layer's settings alone (operations, schemas) is made
 * when the layer starts.  Where the layer is reached, which version of an API
 * it was chosen as, and whether one has to log in, is known when somebody
 * asks, and put in front of it then.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_OPENAPI_H
#define MODULES_ARTICLES_OPENAPI_H

#include "articles.h"
#include "net/digest.h"

struct openapi {
    struct str rest; /* members of the document, with its last brace */
    uint8_t digest[DIGEST_SHA256]; /* of rest */
};

/* All but info, servers and security; in the pool. */
const struct openapi *openapi_make(const struct articles *layer,
                                   struct pool *pool);

#endif
