/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/reach.h"

struct walk {
    uint8_t sum[DIGEST_SHA256];
    size_t files;
};

/* Entries come in any order, so their digests are added up. */
static void
add(struct walk *w, const void *data, size_t len)
{
    uint8_t one[DIGEST_SHA256];
    unsigned carry = 0;

    digest_sha256(data, len, one);
    for (size_t i = 0; i < DIGEST_SHA256; i++) {
        carry += (unsigned)w->sum[i] + one[i];
        w->sum[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

struct seen { /* of an entry; all of its bytes are set */
    int64_t number, depth, size, s, ns;
    uint64_t device, inode;
    char name[NAME_MAX + 1];
};

static void look_below(struct walk *w, int dir, int64_t number, int64_t depth);

static void
look_at(struct walk *w, int dir, const char *name, struct seen *seen)
{
    struct stat st;

    if (fstatat(dir, name, &st, 0) == -1) {
        return;
    }
    seen->size = S_ISDIR(st.st_mode) ? 0 : st.st_size;
    seen->s = st.st_mtim.tv_sec;
    seen->ns = st.st_mtim.tv_nsec;
    seen->device = st.st_dev;
    seen->inode = st.st_ino;
    memset(seen->name, 0, sizeof(seen->name));
    str_copy(seen->name, sizeof(seen->name), str_from(name));
    add(w, seen, sizeof(*seen));
    if (S_ISDIR(st.st_mode) && seen->depth < TREE_DEPTH) {
        int below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        look_below(w, below, seen->number, seen->depth + 1);
    }
}

/* Owns dir. */
static void
look_below(struct walk *w, int dir, int64_t number, int64_t depth)
{
    DIR *d = dir == -1 ? NULL : fdopendir(dir);
    const struct dirent *e;

    if (d == NULL) {
        if (dir != -1) {
            close(dir);
        }
        return;
    }
    while ((e = readdir(d)) != NULL && w->files++ < TREE_FILES) {
        struct seen seen = { .number = number, .depth = depth };

        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            look_at(w, dirfd(d), e->d_name, &seen);
        }
    }
    closedir(d);
}

void
tree_digest(const struct str *directories, size_t count,
            uint8_t out[DIGEST_SHA256])
{
    struct walk w = { .files = 0 };

    for (size_t i = 0; i < count; i++) {
        int dir = reach_open(directories[i].ptr, O_RDONLY | O_DIRECTORY);

        look_below(&w, dir, (int64_t)i, 0);
    }
    memcpy(out, w.sum, sizeof(w.sum));
}
