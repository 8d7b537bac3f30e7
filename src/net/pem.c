/*
 * The labels of PEM blocks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/pem.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static const char *const names[PEM_KINDS] = {
    [PEM_CERTIFICATE] = "certificate",
    [PEM_PRIVATE_KEY] = "private key",
    [PEM_PUBLIC_KEY] = "public key",
    [PEM_REVOKED] = "list of revoked certificates",
    [PEM_REQUEST] = "request for a certificate",
};

const char *
pem_name(enum pem_kind kind)
{
    return names[kind];
}

/* By the label's end: "RSA PRIVATE KEY" is a private key.  PEM_KINDS: others,
 * as "EC PARAMETERS". */
static enum pem_kind
kind_of(struct str label)
{
    static const struct {
        struct str end;
        enum pem_kind kind;
    } rows[] = {
        { { "CERTIFICATE", 11 }, PEM_CERTIFICATE },
        { { "PRIVATE KEY", 11 }, PEM_PRIVATE_KEY },
        { { "PUBLIC KEY", 10 }, PEM_PUBLIC_KEY },
        { { "X509 CRL", 8 }, PEM_REVOKED },
        { { "CERTIFICATE REQUEST", 19 }, PEM_REQUEST },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_ends(label, rows[i].end)) {
            return rows[i].kind;
        }
    }
    return PEM_KINDS;
}

/* The label of "-----BEGIN LABEL-----"; empty: another line. */
static struct str
label_of(struct str line)
{
    static const struct str begin = { "-----BEGIN ", 11 }, end = { "-----", 5 };

    if (str_ends(line, STR("\r"))) {
        line.len--;
    }
    line = str_trim(line);
    if (!str_starts(line, begin) || line.len < begin.len + end.len ||
        !str_ends(line, end)) {
        return STR_NONE;
    }
    return str_first(str_skip(line, begin.len), line.len - begin.len - end.len);
}

enum pem_kind
pem_instead(struct str text, enum pem_kind wanted)
{
    enum pem_kind found = PEM_KINDS;

    while (text.len > 0) {
        enum pem_kind kind = kind_of(label_of(str_cut(&text, '\n')));

        if (kind == wanted) {
            return PEM_KINDS;
        }
        found = found == PEM_KINDS ? kind : found;
    }
    return found;
}

static size_t
read_file(const char *path, char *dst, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t len = 0;
    ssize_t n = fd == -1 ? -1 : read(fd, dst, size);

    while (n > 0) {
        len += (size_t)n;
        n = read(fd, dst + len, size - len);
    }
    if (fd != -1) {
        close(fd);
    }
    return len;
}

bool
pem_file_is_other(const char *path, const char *what, enum pem_kind wanted,
                  struct errmsg *err)
{
    char *text = mem_zero(PEM_FILE_MAX + 1);
    size_t len = read_file(path, text, PEM_FILE_MAX + 1);
    enum pem_kind kind = len <= PEM_FILE_MAX
                             ? pem_instead(str_of(text, len), wanted)
                             : PEM_KINDS;

    explicit_bzero(text, len);
    mem_free(&text);
    if (kind == PEM_KINDS) {
        return false;
    }
    errmsg_set(err, "%s %s holds a %s, not a %s", what, path, names[kind],
               names[wanted]);
    return true;
}
