/*
 * Reading the header of the index while another process may be writing it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/version.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"

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

uint64_t
sqlite_index_version(const volatile uint64_t *index)
{
    static const uint8_t key[16] = "weir version";
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
    version = hash_keyed(key, str_of(first, sizeof(first)));
    return version != 0 ? version : 1;
}
