/*
 * The "tls" group of an address, and the context that is made of it.
 *
 * A file is right when the context can be made: so a check makes one and frees
 * it, and "weir -t" finds the same mistakes as a start or a reload.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/servers.h"

#include "app/module.h"
#include "base/mem.h"
#include "conf/rows.h"

#define HOURS(n) ((int64_t)(n)*3600 * 1000)

/* Mozilla's intermediate configuration, version 5.7, less its finite-field
 * key exchanges, which no client of today needs. */
#define CIPHERS                                                  \
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:" \
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:" \
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
#define CIPHERSUITES                                 \
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:" \
    "TLS_CHACHA20_POLY1305_SHA256"
#define GROUPS "X25519:P-256:P-384"

static const char *const versions[] = { "1.2", "1.3", NULL };
static const char *const verifies[] = { "on", "optional", "optional_no_ca",
                                        NULL };

static const struct conf_key certificate_keys[] = {
    ROW_WHERE(tls_certificate_settings),
    ROW(tls_certificate_settings, certificate, CONF_STRING,
        .help = "As tls.certificate."),
    ROW(tls_certificate_settings, certificate_key, CONF_STRING,
        .help = "As tls.certificate_key."),
    CONF_END,
};

const struct conf_key settings_tls_keys[] = {
    ROW_WHERE(tls_settings),
    ROW(tls_settings, certificate, CONF_STRING, .preset = "",
        .help = "PEM file: the server's certificate, then the others of its "
                "chain."),
    ROW(tls_settings, certificate_key, CONF_STRING, .preset = "",
        .help = "PEM file: its private key, without a passphrase, and not "
                "readable by others."),
    ROW(tls_settings, certificates, CONF_GROUPS, .keys = certificate_keys,
        .size = sizeof(struct tls_certificate_settings), .preset = "", .min = 0,
        .max = TLS_CERTIFICATES_MAX,
        .help = "Several instead of one: a client is shown the one that has "
                "the name it asks for, exactly or by \"*.\"; else the first."),
    ROW(tls_settings, min_version, CONF_ENUM, .words = versions,
        .preset = "1.2", .help = "The lowest version of TLS."),
    ROW(tls_settings, max_version, CONF_ENUM, .words = versions,
        .preset = "1.3", .help = "The highest version of TLS."),
    ROW(tls_settings, ciphers, CONF_STRING, .preset = CIPHERS,
        .help = "Ciphers of TLS 1.2, as OpenSSL writes them."),
    ROW(tls_settings, ciphersuites, CONF_STRING, .preset = CIPHERSUITES,
        .help = "Cipher suites of TLS 1.3."),
    ROW(tls_settings, groups, CONF_STRING, .preset = GROUPS,
        .help = "Groups for the key exchange."),
    ROW(tls_settings, client_ca, CONF_STRING, .preset = "",
        .help = "PEM file: only clients with a certificate that one of these "
                "issued get in; empty: none is asked for."),
    ROW(tls_settings, client_verify, CONF_ENUM, .words = verifies,
        .preset = "on",
        .help = "\"on\": client_ca is a condition; \"optional\": clients may "
                "come without a certificate; \"optional_no_ca\": and with one "
                "that others have issued.  $ssl_client_verify tells which it "
                "was."),
    ROW(tls_settings, client_depth, CONF_INT, .min = 0, .max = 100,
        .preset = "10",
        .help = "How many CAs may stand between a client's certificate and one "
                "of client_ca."),
    ROW(tls_settings, client_crl, CONF_STRING, .preset = "",
        .help =
            "PEM file: lists of certificates that the CAs of client_ca have "
            "revoked, one of each CA; empty: none is."),
    ROW(tls_settings, session_tickets, CONF_BOOL, .preset = "true",
        .help = "Clients that come back may go on where they were, whichever "
                "worker they meet."),
    ROW(tls_settings, session_timeout, CONF_TIME, .min = 1000, .max = HOURS(12),
        .preset = "4h",
        .help = "How long a ticket is good; the same for all servers at "
                "an address."),
    ROW(tls_settings, ktls, CONF_BOOL, .preset = "true",
        .help = "The kernel encrypts what is sent, where it can."),
    ROW(tls_settings, handshake_timeout, CONF_TIME, .min = 100, .max = HOURS(1),
        .preset = "10s",
        .help = "How long the handshake may take, from the accept on; the same "
                "for all servers at an address."),
    CONF_END,
};

/* ---- contexts ---- */

static struct tls_options
options_of(const struct tls_settings *s, bool http)
{
    const struct tls_certificate_settings *more = s->certificates.items;
    struct tls_options o = {
        .min_version = (enum tls_version)s->min_version,
        .max_version = (enum tls_version)s->max_version,
        .ciphers = s->ciphers,
        .ciphersuites = s->ciphersuites,
        .groups = s->groups,
        .client_ca = s->client_ca,
        .client_verify = (enum tls_client_rule)s->client_verify,
        .client_depth = (int)s->client_depth,
        .client_crl = s->client_crl,
        .session_tickets = s->session_tickets,
        .ktls = s->ktls,
        .http = http,
        .session_timeout = s->session_timeout,
        .handshake_timeout = s->handshake_timeout,
    };

    if (s->certificate.len > 0) {
        o.pairs[o.pair_count++] =
            (struct tls_pair){ s->certificate, s->certificate_key };
    }
    for (size_t i = 0; i < s->certificates.count; i++) {
        o.pairs[o.pair_count++] =
            (struct tls_pair){ more[i].certificate, more[i].certificate_key };
    }
    return o;
}

int
settings_check_tls(const void *tls_settings, struct errmsg *err)
{
    const struct tls_settings *s = tls_settings;

    if ((s->certificate.len > 0) == (s->certificates.count > 0)) {
        return errmsg_set(err, "tls needs a certificate, or a list of "
                               "certificates, not both");
    }
    if ((s->certificate.len > 0) != (s->certificate_key.len > 0)) {
        return errmsg_set(err, "certificate and certificate_key go together");
    }
    if (s->min_version > s->max_version) {
        return errmsg_set(err,
                          "min_version (%s) must not be above "
                          "max_version (%s)",
                          versions[s->min_version], versions[s->max_version]);
    }
    if (s->client_ca.len == 0 &&
        (s->client_verify == TLS_VERIFY_OPTIONAL || s->client_crl.len > 0)) {
        return errmsg_set(err, "%s needs client_ca",
                          s->client_crl.len > 0 ? "client_crl"
                                                : "client_verify");
    }
    struct tls_options o = options_of(s, false);
    struct tls_context *t = tls_context_new(&o, err);

    if (t == NULL) {
        return -1;
    }
    tls_context_free(&t);
    return 0;
}

int
settings_tls(const struct listen_settings *l, bool http,
             struct tls_context **out, struct errmsg *err)
{
    *out = NULL;
    if (l->tls.count == 0) {
        return 0;
    }
    struct tls_options o = options_of(l->tls.items, http);

    *out = tls_context_new(&o, err);
    return *out == NULL ? -1 : 0;
}

bool
settings_wants_ktls(const struct listen_settings *l)
{
    const struct tls_settings *s = l->tls.items;

    return l->tls.count > 0 && s->ktls;
}

/* ---- warnings ---- */

static void
warn_of(const struct conf_groups *listen)
{
    for (size_t i = 0; i < listen->count; i++) {
        struct tls_context *t;
        struct errmsg err;

        if (settings_tls(settings_listen(listen, i), false, &t, &err) == 0 &&
            t != NULL) {
            tls_context_warn(t);
            tls_context_free(&t);
        }
    }
}

void
settings_warn(const struct settings *s)
{
    struct server_settings server;

    for (size_t i = 0; settings_server(s, i, &server); i++) {
        warn_of(server.listen);
    }
    settings_warn_cuts(s);
    settings_warn_bypass(s);
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->warn != NULL) {
            modules[i]->warn(s);
        }
    }
}
