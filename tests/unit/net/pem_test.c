/*
 * What a PEM file holds in place of what is wanted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "net/pem.h"

#define BLOCK(label) \
    "-----BEGIN " label "-----\nMA==\n-----END " label "-----\n"

static void
labels_tell(void **state)
{
    static const struct {
        const char *text;
        enum pem_kind wanted, instead;
    } rows[] = {
        { BLOCK("CERTIFICATE"), PEM_PRIVATE_KEY, PEM_CERTIFICATE },
        { BLOCK("TRUSTED CERTIFICATE"), PEM_PRIVATE_KEY, PEM_CERTIFICATE },
        { BLOCK("PRIVATE KEY"), PEM_CERTIFICATE, PEM_PRIVATE_KEY },
        { BLOCK("RSA PRIVATE KEY"), PEM_CERTIFICATE, PEM_PRIVATE_KEY },
        { BLOCK("ENCRYPTED PRIVATE KEY"), PEM_CERTIFICATE, PEM_PRIVATE_KEY },
        { BLOCK("EC PARAMETERS") BLOCK("EC PRIVATE KEY"), PEM_CERTIFICATE,
          PEM_PRIVATE_KEY },
        { BLOCK("PUBLIC KEY"), PEM_PRIVATE_KEY, PEM_PUBLIC_KEY },
        { BLOCK("X509 CRL"), PEM_CERTIFICATE, PEM_REVOKED },
        { BLOCK("CERTIFICATE REQUEST"), PEM_CERTIFICATE, PEM_REQUEST },
        { "subject: a\r\n-----BEGIN PRIVATE KEY-----\r\n", PEM_CERTIFICATE,
          PEM_PRIVATE_KEY },
        { BLOCK("PRIVATE KEY") BLOCK("CERTIFICATE"), PEM_CERTIFICATE,
          PEM_KINDS },
        { BLOCK("CERTIFICATE") BLOCK("PRIVATE KEY"), PEM_PRIVATE_KEY,
          PEM_KINDS },
        { "", PEM_CERTIFICATE, PEM_KINDS },
        { "no PEM\n", PEM_CERTIFICATE, PEM_KINDS },
        { BLOCK("DH PARAMETERS"), PEM_CERTIFICATE, PEM_KINDS },
        { "-----BEGIN -----\n", PEM_CERTIFICATE, PEM_KINDS },
        { "-----BEGIN ----\n", PEM_CERTIFICATE, PEM_KINDS },
        { "-----BEGIN PRIVATE KEY\n", PEM_CERTIFICATE, PEM_KINDS },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum pem_kind found =
            pem_instead(str_from(rows[i].text), rows[i].wanted);

        if (found != rows[i].instead) {
            fail_msg("row %zu: %d", i, (int)found);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
