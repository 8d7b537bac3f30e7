/*
 * header.payload.signature, each base64url.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/jwt.h"

#include "base/base64.h"
#include "json/read.h"

static const char *const texts[] = {
    [JWT_GOOD] = "the token is good",
    [JWT_MALFORMED] = "the token is malformed",
    [JWT_ALGORITHM] = "the token is signed in a way that is not taken",
    [JWT_SIGNATURE] = "the signature is wrong",
    [JWT_EXPIRED] = "the token has expired",
    [JWT_NO_EXPIRY] = "the token has no time of expiry",
    [JWT_EARLY] = "the token is not valid yet",
    [JWT_ISSUER] = "the token is from another issuer",
    [JWT_AUDIENCE] = "the token is for another audience",
    [JWT_CLAIMS] = "the token does not give this right",
};

const char *
jwt_result_text(enum jwt_result result)
{
    return texts[result];
}

/* ---- the three parts ---- */

struct parts {
    struct str signed_text; /* "header.payload", as sent */
    struct str header, payload, signature;
};

static bool
split(struct pool *pool, struct str token, struct parts *out)
{
    struct str rest = token;
    struct str header = str_cut(&rest, '.'), payload = str_cut(&rest, '.');

    out->signed_text = str_first(token, header.len + 1 + payload.len);
    return token.len <= JWT_MAX && rest.len > 0 &&
           base64_decode(pool, BASE64_URL, header, &out->header) &&
           base64_decode(pool, BASE64_URL, payload, &out->payload) &&
           base64_decode(pool, BASE64_URL, rest, &out->signature);
}

static const struct json_value *
read_object(struct pool *pool, struct str text)
{
    struct errmsg ignored;
    const struct json_value *v = json_read(pool, text, &ignored);

    return v != NULL && v->kind == JSON_OBJECT ? v : NULL;
}

/* ---- the header ---- */

static bool
names_kind(struct str alg, enum signature_kind kind)
{
    switch (kind) {
    case SIGNATURE_HS256:
        return str_eq(alg, STR("HS256"));
    case SIGNATURE_RS256:
        return str_eq(alg, STR("RS256"));
    case SIGNATURE_ES256:
        return str_eq(alg, STR("ES256"));
    }
    return false;
}

/* Tokens made for something else than access are not taken (RFC 8725, 3.11);
 * extensions that must be understood are not. */
static bool
header_ok(const struct json_value *header)
{
    const struct json_value *type = json_member(header, "typ");
    struct str name = json_member_str(header, "typ");

    if (header == NULL || json_member(header, "crit") != NULL) {
        return false;
    }
    return type == NULL || str_eq_nocase(name, STR("JWT")) ||
           str_eq_nocase(name, STR("at+jwt")) ||
           str_eq_nocase(name, STR("application/at+jwt"));
}

/* A key with an id is meant by tokens that name it, and may be by those that
 * name none. */
static bool
is_meant(const struct jwt_key *k, struct str alg, struct str id)
{
    return names_kind(alg, signature_kind(k->key)) &&
           (k->id.len == 0 || id.len == 0 || str_eq(k->id, id));
}

static enum jwt_result
check_signature(const struct jwt_rules *rules, const struct parts *parts,
                const struct json_value *header)
{
    struct str alg = json_member_str(header, "alg");
    struct str id = json_member_str(header, "kid");
    enum jwt_result result = JWT_ALGORITHM;

    for (size_t i = 0; i < rules->key_count; i++) {
        if (!is_meant(&rules->keys[i], alg, id)) {
            continue;
        }
        if (signature_holds(rules->keys[i].key, parts->signed_text,
                            parts->signature)) {
            return JWT_GOOD;
        }
        result = JWT_SIGNATURE;
    }
    return result;
}

/* ---- the payload ---- */

static bool
is_time(const struct json_value *v)
{
    return v == NULL ||
           (v->kind == JSON_NUMBER && v->number >= 0 && v->number < 1e15);
}

static enum jwt_result
check_times(const struct jwt_rules *rules, const struct json_value *claims,
            int64_t now)
{
    const struct json_value *expiry = json_member(claims, "exp");
    const struct json_value *begin = json_member(claims, "nbf");
    const struct json_value *issued = json_member(claims, "iat");
    double earliest = (double)(now - rules->leeway);
    double latest = (double)(now + rules->leeway);

    if (!is_time(expiry) || !is_time(begin) || !is_time(issued)) {
        return JWT_MALFORMED;
    }
    if (expiry == NULL) {
        return JWT_NO_EXPIRY;
    }
    if (earliest >= expiry->number) {
        return JWT_EXPIRED;
    }
    if ((begin != NULL && begin->number > latest) ||
        (issued != NULL && issued->number > latest)) {
        return JWT_EARLY;
    }
    return JWT_GOOD;
}

/* v is that string or an array that has it. */
static bool
has_string(const struct json_value *v, struct str wanted)
{
    if (v->kind == JSON_STRING) {
        return str_eq(v->text, wanted);
    }
    if (v->kind != JSON_ARRAY) {
        return false;
    }
    for (v = v->first; v != NULL; v = v->next) {
        if (v->kind == JSON_STRING && str_eq(v->text, wanted)) {
            return true;
        }
    }
    return false;
}

static bool
has_word(struct str words, struct str wanted)
{
    while (words.len > 0) {
        if (str_eq(str_cut(&words, ' '), wanted)) {
            return true;
        }
    }
    return false;
}

static bool
audience_ok(const struct jwt_rules *rules, const struct json_value *claims)
{
    const struct json_value *audience = json_member(claims, "aud");

    for (size_t i = 0; i < rules->audience_count; i++) {
        if (audience != NULL && has_string(audience, rules->audiences[i])) {
            return true;
        }
    }
    return rules->audience_count == 0;
}

static bool
claim_ok(const struct json_value *claims, const struct jwt_claim *wanted)
{
    const struct json_value *v = json_member(claims, wanted->name.ptr);

    if (v == NULL || wanted->value.len == 0) {
        return v != NULL;
    }
    if (v->kind == JSON_BOOL) {
        return str_eq(wanted->value, v->truth ? STR("true") : STR("false"));
    }
    if (v->kind == JSON_NUMBER) {
        return str_eq(wanted->value, v->text);
    }
    return has_string(v, wanted->value) ||
           (v->kind == JSON_STRING && str_eq(wanted->name, STR("scope")) &&
            has_word(v->text, wanted->value));
}

static enum jwt_result
check_claims(const struct jwt_rules *rules, const struct json_value *claims,
             int64_t now)
{
    enum jwt_result result = check_times(rules, claims, now);

    if (result != JWT_GOOD) {
        return result;
    }
    if (rules->issuer.len > 0 &&
        !str_eq(json_member_str(claims, "iss"), rules->issuer)) {
        return JWT_ISSUER;
    }
    if (!audience_ok(rules, claims)) {
        return JWT_AUDIENCE;
    }
    for (size_t i = 0; i < rules->required_count; i++) {
        if (!claim_ok(claims, &rules->required[i])) {
            return JWT_CLAIMS;
        }
    }
    return JWT_GOOD;
}

enum jwt_result
jwt_check(struct pool *pool, const struct jwt_rules *rules, struct str token,
          int64_t now, struct str *subject)
{
    const struct json_value *header, *claims;
    enum jwt_result result;
    struct parts parts;

    *subject = STR_NONE;
    if (!split(pool, token, &parts)) {
        return JWT_MALFORMED;
    }
    header = read_object(pool, parts.header);
    if (!header_ok(header)) {
        return JWT_MALFORMED;
    }
    result = check_signature(rules, &parts, header);
    if (result != JWT_GOOD) {
        return result;
    }
    claims = read_object(pool, parts.payload);
    if (claims == NULL) {
        return JWT_MALFORMED;
    }
    *subject = json_member_str(claims, "sub");
    return check_claims(rules, claims, now);
}
