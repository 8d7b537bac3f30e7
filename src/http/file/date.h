/*
 * Dates as HTTP writes them (RFC 9110, 5.6.7), from text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_DATE_H
#define HTTP_FILE_DATE_H

#include "base/str.h"

/* Seconds since 1970 of a date in any of the three forms; false, with
 * *seconds left alone, when it is none.  The name of the day is not compared
 * with the date.  A year of two digits lies within 50 years of now. */
bool http_date_parse(struct str text, int64_t *seconds);

#endif
