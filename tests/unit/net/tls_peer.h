/*
 * For the tests of TLS: certificates made on the spot, and a client of OpenSSL
 * in the test's own process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_TLS_PEER_H
#define UNIT_NET_TLS_PEER_H

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/tls.h"

#define DAYS_S ((long)24 * 3600)

static char dir[] = "/tmp/weir-tls-XXXXXX";

/* dir/name; lives as long as the test. */
static inline const char *
in_dir(const char *name)
{
    static char all[65536];
    static size_t used;
    char *path = all + used;

    used += (size_t)snprintf(path, sizeof(all) - used, "%s/%s", dir, name) + 1;
    assert_true(used < sizeof(all));
    return path;
}

static inline struct str
file(const char *name)
{
    return str_from(in_dir(name));
}

static inline FILE *
create(const char *path, unsigned mode)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fchmod(fileno(f), mode), 0);
    return f;
}

static inline void
write_text(const char *name, const char *text)
{
    FILE *f = create(in_dir(name), 0600);

    fputs(text, f);
    fclose(f);
}

static inline EVP_PKEY *
write_key(const char *name, unsigned mode, const char *passphrase)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *f = create(in_dir(name), mode);
    const EVP_CIPHER *cipher = passphrase ? EVP_aes_128_cbc() : NULL;

    assert_int_equal(PEM_write_PrivateKey(f, key, cipher, NULL, 0, NULL,
                                          (void *)(uintptr_t)passphrase),
                     1);
    fclose(f);
    return key;
}

/* Self-signed by CN=name for names ("DNS:a,DNS:b"), from .. until: days from
 * now. */
static inline void
write_certificate(const char *name, EVP_PKEY *key, const char *names, long from,
                  long until)
{
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    FILE *f = create(in_dir(name), 0644);

    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), from * DAYS_S);
    X509_gmtime_adj(X509_getm_notAfter(x), until * DAYS_S);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, subject);
    X509_set_pubkey(x, key);
    if (names != NULL) {
        X509_EXTENSION *e =
            X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);

        X509_add_ext(x, e, -1);
        X509_EXTENSION_free(e);
    }
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
    X509_free(x);
}

/* NAME.pem and NAME.key. */
static inline void
write_pair(const char *name, const char *names)
{
    char certificate[64], key_file[64];

    snprintf(certificate, sizeof(certificate), "%s.pem", name);
    snprintf(key_file, sizeof(key_file), "%s.key", name);

    EVP_PKEY *key = write_key(key_file, 0600, NULL);

    write_certificate(certificate, key, names, -1, 100);
    EVP_PKEY_free(key);
}

static inline void
remove_dir(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

/* What a listener with the pair "a" would ask for. */
static inline struct tls_options
usual_options(void)
{
    return (struct tls_options){
        .pairs = { { file("a.pem"), file("a.key") } },
        .pair_count = 1,
        .min_version = TLS_1_2,
        .max_version = TLS_1_3,
        .ciphers = STR("ECDHE-ECDSA-AES128-GCM-SHA256"),
        .ciphersuites = STR("TLS_AES_128_GCM_SHA256"),
        .groups = STR("X25519:P-256"),
        .client_ca = STR_NONE,
        .client_depth = 10,
        .client_crl = STR_NONE,
        .session_tickets = true,
        .session_timeout = 60000,
        .handshake_timeout = 600000,
    };
}

#endif
