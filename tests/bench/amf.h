/*
 * The little of AMF0 a client of a media server needs: writing commands, and
 * finding a name, a transaction, a number and a code in the answers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_AMF_H
#define BENCH_AMF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each writes one value at p and returns the byte after it. Strings are below
 * 64 KiB. */
uint8_t *amf_put_number(uint8_t *p, double v);
uint8_t *amf_put_bool(uint8_t *p, bool v);
uint8_t *amf_put_string(uint8_t *p, const char *s);
uint8_t *amf_put_null(uint8_t *p);
/* An object: begin, then key and value in turn, then end. */
uint8_t *amf_begin_object(uint8_t *p);
uint8_t *amf_begin_array(uint8_t *p, uint32_t count);
uint8_t *amf_put_key(uint8_t *p, const char *key);
uint8_t *amf_end_object(uint8_t *p);

/* An answer or a notice of the server. */
struct amf_reply {
    char name[64];
    double transaction;
    double number;  /* the last plain number after the transaction */
    char code[96];  /* the property "code" of any object, or "" */
    char about[96]; /* its "description", or "" */
};

/* False when the bytes are not AMF0 from the beginning to the end. */
bool amf_get_reply(const uint8_t *p, size_t n, struct amf_reply *reply);

#endif
