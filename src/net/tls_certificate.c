/*
 * Reading certificates and their keys from files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/tls_certificate.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int
tls_file_check(const char *path, const char *what, unsigned *mode,
               struct errmsg *err)
{
    /* A pipe would make us wait. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd == -1) {
        return errmsg_sys(err, "cannot read %s %s", what, path);
    }
    int bad = fstat(fd, &st);

    close(fd);
    if (bad != 0 || !S_ISREG(st.st_mode)) {
        return errmsg_set(err, "%s %s is not a file", what, path);
    }
    if (mode != NULL) {
        *mode = st.st_mode & 07777u;
    }
    return 0;
}

int
tls_file_refuse(const char *path, const char *what, enum pem_kind wanted,
                struct errmsg *err)
{
    bool none = ERR_GET_REASON(ERR_peek_error()) == PEM_R_NO_START_LINE;
    const char *complaint = tls_complaint();

    if (pem_file_is_other(path, what, wanted, err)) {
        return -1;
    }
    return none ? errmsg_set(err, "%s %s has no %s in PEM form", what, path,
                             pem_name(wanted))
                : errmsg_set(err, "%s %s: %s", what, path, complaint);
}

/* ---- the certificate and its chain ---- */

static void
add_name(struct pool *pool, struct tls_names *names, const void *text, int len)
{
    /* A NUL within is a name that was made to be read wrongly. */
    if (len > 0 && memchr(text, '\0', (size_t)len) == NULL) {
        names->all[names->count++] = pool_str(pool, str_of(text, (size_t)len));
    }
}

/* The subject's common name counts only where there are no other names. */
static void
read_common_name(struct pool *pool, X509 *x, struct tls_names *names)
{
    char text[256];
    int len = X509_NAME_get_text_by_NID(X509_get_subject_name(x),
                                        NID_commonName, text, sizeof(text));

    names->all = pool_zero(pool, sizeof(*names->all));
    add_name(pool, names, text, len);
}

static void
read_names(struct pool *pool, X509 *x, struct tls_names *names)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    int count = all == NULL ? 0 : sk_GENERAL_NAME_num(all);

    names->all = pool_zero(pool, ((size_t)count + 1) * sizeof(*names->all));
    for (int i = 0; i < count; i++) {
        const GENERAL_NAME *n = sk_GENERAL_NAME_value(all, i);

        if (n->type == GEN_DNS) {
            add_name(pool, names, ASN1_STRING_get0_data(n->d.dNSName),
                     ASN1_STRING_length(n->d.dNSName));
        }
    }
    GENERAL_NAMES_free(all);
    if (names->count == 0) {
        read_common_name(pool, x, names);
    }
}

static int64_t
seconds_of(const ASN1_TIME *t)
{
    struct tm tm;

    return ASN1_TIME_to_tm(t, &tm) == 1 ? timegm(&tm) : 0;
}

static void
read_dates(X509 *x, struct tls_certificate *c)
{
    int64_t from = seconds_of(X509_get0_notBefore(x));
    int64_t until = seconds_of(X509_get0_notAfter(x));

    c->from = from > c->from ? from : c->from;
    c->until = c->until == 0 || until < c->until ? until : c->until;
}

static void
look_at_chain(struct pool *pool, struct tls_certificate *c)
{
    X509 *x = SSL_CTX_get0_certificate(c->ssl);
    STACK_OF(X509) *chain = NULL;

    read_names(pool, x, &c->names);
    read_dates(x, c);
    SSL_CTX_get0_chain_certs(c->ssl, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *issuer = sk_X509_value(chain, i);

        read_dates(issuer, c);
        c->disordered |= X509_check_issued(issuer, x) != X509_V_OK;
        x = issuer;
    }
}

static int
read_chain(struct tls_certificate *c, struct errmsg *err)
{
    if (tls_file_check(c->path, "certificate", NULL, err) == -1) {
        return -1;
    }
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(c->ssl, c->path) == 1) {
        return 0;
    }
    return tls_file_refuse(c->path, "certificate", PEM_CERTIFICATE, err);
}

/* ---- its key ---- */

/* Nobody is there to be asked for a passphrase. */
static int
on_passphrase(char *dst, int size, int writing, void *arg)
{
    bool *asked = arg;

    (void)dst;
    (void)size;
    (void)writing;
    *asked = true;
    return -1;
}

static int
check_mode(const struct tls_certificate *c, struct errmsg *err)
{
    if ((c->key_mode & 027) == 0) {
        return 0;
    }
    if (pem_file_is_other(c->key_path, "certificate_key", PEM_PRIVATE_KEY,
                          err)) {
        return -1; /* nothing that is secret */
    }
    return errmsg_set(err,
                      "certificate_key %s is open to others (mode %04o): "
                      "chmod 600 it",
                      c->key_path, c->key_mode);
}

static int
key_is_wrong(const struct tls_certificate *c, bool asked, struct errmsg *err)
{
    int reason = ERR_GET_REASON(ERR_peek_last_error());

    if (asked) {
        ERR_clear_error();
        return errmsg_set(err,
                          "certificate_key %s has a passphrase, and nobody is "
                          "there to be asked: write it without one (openssl "
                          "pkey -in OLD -out NEW)",
                          c->key_path);
    }
    if (reason == X509_R_KEY_VALUES_MISMATCH ||
        reason == X509_R_KEY_TYPE_MISMATCH) {
        ERR_clear_error();
        return errmsg_set(err, "certificate_key %s is not the key of %s",
                          c->key_path, c->path);
    }

    const char *complaint = tls_complaint();

    if (pem_file_is_other(c->key_path, "certificate_key", PEM_PRIVATE_KEY,
                          err)) {
        return -1;
    }
    return errmsg_set(err,
                      "certificate_key %s has no usable key in PEM form: %s",
                      c->key_path, complaint);
}

static int
read_key(struct tls_certificate *c, struct errmsg *err)
{
    bool asked = false;

    if (tls_file_check(c->key_path, "certificate_key", &c->key_mode, err) ==
            -1 ||
        check_mode(c, err) == -1) {
        return -1;
    }
    SSL_CTX_set_default_passwd_cb(c->ssl, on_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(c->ssl, &asked);
    ERR_clear_error();

    int good = SSL_CTX_use_PrivateKey_file(c->ssl, c->key_path,
                                           SSL_FILETYPE_PEM) == 1 &&
               SSL_CTX_check_private_key(c->ssl) == 1;

    SSL_CTX_set_default_passwd_cb_userdata(c->ssl, NULL);
    return good ? 0 : key_is_wrong(c, asked, err);
}

int
tls_certificate_read(struct pool *pool, const struct tls_pair *pair,
                     struct tls_certificate *c, struct errmsg *err)
{
    c->path = pool_cstr(pool, pair->certificate);
    c->key_path = pool_cstr(pool, pair->key);
    if (read_chain(c, err) == -1 || read_key(c, err) == -1) {
        return -1;
    }
    c->kind = EVP_PKEY_get_base_id(SSL_CTX_get0_privatekey(c->ssl));
    look_at_chain(pool, c);
    return 0;
}
