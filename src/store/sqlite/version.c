/*
 * Reading the header of the index while another process may be writing it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/version.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

#define INDEX_PART 32768 /* bytes that SQLite maps at a time */
#define HEAD_WORDS 6     /* of 8 bytes: one copy of the header */

const volatile uint64_t *
sqlite_index_of(struct sqlite3 *handle)
{
    sqlite3_file *file = NULL;
    volatile void *index = NULL;

    if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER,
                             (void *)&file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL ||
        file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, INDEX_PART, 0, &index) != SQLITE_OK) {
        return NULL;
    }
    return index;
}

/* Two headers that follow each other differ in the count of transactions, and
 * others in their salts and checksums: nobody can choose them, so a hash that
 * is fast will do. */
static uint64_t
mix(const uint64_t words[HEAD_WORDS])
{
    uint64_t sum = 0;

    for (size_t i = 0; i < HEAD_WORDS; i++) {
        sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

uint64_t
sqlite_index_version(const volatile uint64_t *index)
{
    uint64_t first[HEAD_WORDS], second[HEAD_WORDS], version;

    for (size_t i = 0; i < HEAD_WORDS; i++) {
        first[i] = index[i];
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (size_t i = 0; i < HEAD_WORDS; i++) {
        second[i] = index[HEAD_WORDS + i];
    }
    if (memcmp(first, second, sizeof(first)) != 0) {
        return 0;
    }
    version = mix(first);
    return version != 0 ? version : 1;
}
