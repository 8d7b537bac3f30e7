/*
 * Opening a file below a directory and nowhere else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_BENEATH_H
#define HTTP_FILE_BENEATH_H

/* Opens path, relative to the directory root, for reading; -1 with errno.
 * Neither "..", nor a link, nor a directory that is renamed meanwhile leads
 * out.  "" and "." are the root itself.  The descriptor may be of anything
 * but a link: look with fstat() before reading. */
int http_open_beneath(int root, const char *path);

/* The same where the kernel has no openat2(): segment by segment, and no
 * links at all. */
int http_open_stepwise(int root, const char *path);

#endif
