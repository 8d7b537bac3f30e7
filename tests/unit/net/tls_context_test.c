/*
 * What certificates, keys and rules are taken, and what is said of others.
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

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "tls_peer.h"

static int
set_up(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    write_pair("a", "DNS:a.example");
    write_pair("b", "DNS:b.example");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    remove_dir();
    return 0;
}

static void
accepts(const struct tls_options *o)
{
    struct errmsg err = { "" };
    struct tls_context *t = tls_context_new(o, &err);

    if (t == NULL) {
        fail_msg("%s", err.text);
    }
    tls_context_free(&t);
    assert_null(t);
}

/* The message has the first part, and the second one behind it. */
static void
refuses(const struct tls_options *o, const char *part, const char *then)
{
    struct errmsg err = { "" };
    const char *at;

    assert_null(tls_context_new(o, &err));
    at = strstr(err.text, part);
    if (at == NULL || strstr(at, then) == NULL) {
        fail_msg("no \"%s\", \"%s\" in: %s", part, then, err.text);
    }
    assert_int_equal(ERR_peek_error(), 0);
}

static void
refuses_pair(const char *certificate, const char *key, const char *part,
             const char *then)
{
    struct tls_options o = usual_options();

    o.pairs[0] = (struct tls_pair){ file(certificate), file(key) };
    refuses(&o, part, then);
}

static void
good_ones_are_taken(void **state)
{
    struct tls_options o = usual_options();

    (void)state;
    accepts(&o);
    o.pairs[1] = (struct tls_pair){ file("b.pem"), file("b.key") };
    o.pair_count = 2;
    o.client_ca = file("b.pem");
    o.session_tickets = false;
    o.ktls = true;
    o.http = true;
    accepts(&o);
}

static void
files_that_cannot_be_used(void **state)
{
    (void)state;
    write_text("text.pem", "nothing of the kind\n");
    refuses_pair("none.pem", "a.key", "certificate ", "No such file");
    refuses_pair("a.pem", "none.key", "certificate_key ", "No such file");
    refuses_pair("", "a.key", "certificate ", "is not a file");
    refuses_pair("text.pem", "a.key", "text.pem", "no certificate in PEM");
    refuses_pair("a.pem", "text.pem", "text.pem", "no usable key in PEM");
    refuses_pair("a.pem", "b.key", "b.key is not the key of", "a.pem");
}

/* One file in the place of another. */
static void
files_that_were_mistaken(void **state)
{
    struct tls_options o = usual_options();

    (void)state;
    refuses_pair("a.key", "a.pem", "certificate ",
                 "a.key holds a private key, not a certificate");
    refuses_pair("a.key", "a.key", "certificate ",
                 "a.key holds a private key, not a certificate");
    refuses_pair("a.pem", "a.pem", "certificate_key ",
                 "a.pem holds a certificate, not a private key");
    assert_int_equal(chmod(in_dir("b.pem"), 0644), 0);
    refuses_pair("a.pem", "b.pem", "certificate_key ",
                 "b.pem holds a certificate, not a private key");
    o.client_ca = file("a.key");
    refuses(&o, "client_ca ", "a.key holds a private key, not a certificate");
    o.client_ca = file("text.pem");
    refuses(&o, "client_ca ", "text.pem has no certificate in PEM form");
    o.client_ca = file("b.pem");
    o.client_crl = file("b.pem");
    refuses(&o, "client_crl ",
            "b.pem holds a certificate, not a list of revoked certificates");
}

static void
a_passphrase_cannot_be_asked_for(void **state)
{
    EVP_PKEY *key = write_key("locked.key", 0600, "secret");

    (void)state;
    write_certificate("locked.pem", key, "DNS:x", -1, 100);
    EVP_PKEY_free(key);
    refuses_pair("locked.pem", "locked.key", "locked.key has a passphrase",
                 "openssl pkey");
}

static void
a_key_that_others_may_read_is_refused(void **state)
{
    static const unsigned bad[] = { 0604, 0644, 0620, 0602, 0601, 0660 };
    static const unsigned good[] = { 0600, 0400, 0440, 0640 };
    struct tls_options o = usual_options();

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(chmod(in_dir("a.key"), bad[i]), 0);
        refuses_pair("a.pem", "a.key", "is open to others", "chmod 600");
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(chmod(in_dir("a.key"), good[i]), 0);
        accepts(&o);
    }
    assert_int_equal(chmod(in_dir("a.key"), 0600), 0);
}

static void
rules_that_openssl_does_not_know(void **state)
{
    struct tls_options o = usual_options();

    (void)state;
    o.ciphers = STR("NO-SUCH-CIPHER");
    refuses(&o, "ciphers \"NO-SUCH-CIPHER\"", "");
    o = usual_options();
    o.ciphersuites = STR("NO_SUCH_SUITE");
    refuses(&o, "ciphersuites \"NO_SUCH_SUITE\"", "");
    o = usual_options();
    o.groups = STR("X25519:nowhere");
    refuses(&o, "groups \"X25519:nowhere\"", "");
}

/* ---- what is looked at ---- */

static char said[4096];

static void
hear(void *arg, const char *line, size_t len)
{
    (void)arg;
    str_copy(said + strlen(said), sizeof(said) - strlen(said),
             str_of(line, len));
}

/* What is said of a certificate that is good from .. until. */
static int64_t
look_at(long from, long until, unsigned mode)
{
    struct tls_options o = usual_options();
    struct errmsg err = { "" };
    EVP_PKEY *key = write_key("dated.key", mode, NULL);

    write_certificate("dated.pem", key, NULL, from, until);
    EVP_PKEY_free(key);
    o.pairs[1] = (struct tls_pair){ file("dated.pem"), file("dated.key") };
    o.pair_count = 2;

    struct tls_context *t = tls_context_new(&o, &err);

    if (t == NULL) {
        fail_msg("%s", err.text);
    }
    int64_t expires = tls_expires(t);

    said[0] = '\0';
    log_set_sink(hear, NULL);
    tls_context_warn(t);
    log_set_sink(NULL, NULL);
    tls_context_free(&t);
    return expires;
}

static void
dates_are_looked_at(void **state)
{
    int64_t now = time(NULL);
    int64_t expires = look_at(-10, 50, 0600);

    (void)state;
    assert_string_equal(said, "");
    assert_true(expires > now + 49 * DAYS_S && expires < now + 51 * DAYS_S);
    look_at(-10, 13, 0600);
    assert_non_null(strstr(said, "dated.pem: it expires in 1"));
    look_at(-10, -3, 0600);
    assert_non_null(strstr(said, "dated.pem: it has expired 3 days ago"));
    look_at(1, 50, 0600);
    assert_non_null(strstr(said, "dated.pem: it is not valid yet"));
    look_at(-10, 50, 0640);
    assert_non_null(strstr(said, "dated.key: its group may read it"));
    /* The certificate of a, which has 100 days, is not in it. */
    assert_null(strstr(said, "a.pem"));
}

static void
append(const char *to, const char *from)
{
    char text[4096];
    FILE *in = fopen(in_dir(from), "r");
    FILE *out = fopen(in_dir(to), "a");
    size_t n = fread(text, 1, sizeof(text), in);

    assert_int_equal(fwrite(text, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static void
a_chain_out_of_order_is_noticed(void **state)
{
    struct tls_options o = usual_options();
    struct errmsg err = { "" };
    EVP_PKEY *key = write_key("other.key", 0600, NULL);

    (void)state;
    write_certificate("other.pem", key, NULL, -1, 20);
    EVP_PKEY_free(key);
    /* other.pem did not issue a.pem. */
    write_text("chain.pem", "");
    append("chain.pem", "a.pem");
    append("chain.pem", "other.pem");
    o.pairs[0].certificate = file("chain.pem");

    struct tls_context *t = tls_context_new(&o, &err);

    assert_non_null(t);
    /* The whole chain has to be good. */
    assert_true(tls_expires(t) < time(NULL) + 21 * DAYS_S);
    said[0] = '\0';
    log_set_sink(hear, NULL);
    tls_context_warn(t);
    log_set_sink(NULL, NULL);
    assert_non_null(strstr(said, "chain.pem: the chain is not in order"));
    tls_context_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_are_taken),
        cmocka_unit_test(files_that_cannot_be_used),
        cmocka_unit_test(files_that_were_mistaken),
        cmocka_unit_test(a_passphrase_cannot_be_asked_for),
        cmocka_unit_test(a_key_that_others_may_read_is_refused),
        cmocka_unit_test(rules_that_openssl_does_not_know),
        cmocka_unit_test(dates_are_looked_at),
        cmocka_unit_test(a_chain_out_of_order_is_noticed),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
