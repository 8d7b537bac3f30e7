/*
 * Files below a directory, the small ones kept in memory.
 *
 * A file of at most limits.small bytes is read once and answered from memory;
 * it is not compared with the disk for limits.valid_ms.  Then it is opened and
 * compared (device, inode, size, times of change), and read again when it
 * differs.  The times of a file that changed just before it was read may hide a
 * second change: such a file is read again.
 *
 * A larger file stays open for limits.valid_ms, so that one that is asked for
 * often is not opened each time.  Each request looks whether its name still
 * leads to that file, as it was.  So one that is replaced is seen at once, and
 * one that is removed frees its disk limits.valid_ms later.
 *
 * The number of files and their memory are bounded; the file that nobody has
 * asked for longest goes first, and of open ones the one that was opened first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_FILES_H
#define HTTP_FILE_FILES_H

#include "base/str.h"
#include "http/file/seen.h"

struct http_files;
struct loop;

/* Connections need the other descriptors. */
#define HTTP_FILES_OPEN 256

struct http_files_limits {
    size_t entries;    /* files kept in memory at most; 0: none */
    size_t small;      /* bytes of a file that is kept */
    size_t memory;     /* bytes of all of them */
    int64_t valid_ms;  /* trusted for so long; 0: always looked at */
    size_t open;       /* larger files that stay open at most; 0: none; of
                          all of the process HTTP_FILES_OPEN */
    struct loop *loop; /* borrowed; closes them.  NULL: none stays open */
};

/* An open file, or its bytes; never changes but by http_files_gzip() and in
 * seen. */
struct http_opened {
    uint32_t holds;
    int fd;           /* owned; -1: all of it is in bytes */
    bool in_memory;   /* on tmpfs: no read of it waits, and it knows no
                         RWF_NOWAIT */
    int64_t size;     /* bytes */
    int64_t modified; /* s since 1970 */
    const char *type; /* by the ending of its name */
    struct str tag;   /* strong, with quotes */
    struct str date;  /* Last-Modified */
    struct str head;  /* lines of an answer with all of it: Content-Type,
                         Content-Length, Last-Modified, ETag, Accept-Ranges */
    struct str bytes; /* owned; of size, when fd is -1 */
    struct str gzip;  /* owned; bytes compressed; empty: not made */
    bool gzip_tried;
    struct seen seen; /* of the open file, blocks as its sender counts them */
};

enum http_found {
    HTTP_FILE_OPEN,
    HTTP_FILE_DIRECTORY,
    HTTP_FILE_NONE,   /* not there, outside, or neither file nor directory */
    HTTP_FILE_DENIED, /* its rights forbid it */
    HTTP_FILE_BUSY,   /* out of descriptors or memory */
    HTTP_FILE_FAILED, /* errno says why */
};

/* Owns root, a descriptor of the directory. */
struct http_files *http_files_new(int root,
                                  const struct http_files_limits *limits);
void http_files_free(struct http_files **f); /* what is held stays */
int http_files_root(const struct http_files *f);

/* name: relative, NUL terminated, no '/' in front.  now_ms: loop_now().  With
 * HTTP_FILE_OPEN *out is held by the caller. */
enum http_found http_files_open(struct http_files *f, struct str name,
                                int64_t now_ms, struct http_opened **out);
struct http_opened *http_opened_hold(struct http_opened *o);
void http_opened_drop(struct http_opened *o);

/* The gzip of a small file, which the first call makes; empty when it is no
 * shorter. */
struct str http_files_gzip(struct http_opened *o, int level);

/* For tests and counters. */
size_t http_files_open_count(const struct http_files *f);
size_t http_files_count(const struct http_files *f);
size_t http_files_memory(const struct http_files *f);

#endif
