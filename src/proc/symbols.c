/*
 * Looking up addresses: objects from the dynamic loader's list, functions of
 * the program from the table of symbols in its file, others from what their
 * libraries export.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct object {
    uint64_t address; /* looked for */
    uint64_t base;
    const char *path; /* "": the program */
};

static int
look_in(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object *o = arg;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && o->address >= start &&
            o->address - start < p->p_memsz) {
            o->base = info->dlpi_addr;
            o->path = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* ---- the program's own file ---- */

struct image {
    const uint8_t *bytes; /* NULL: it cannot be read */
    size_t size;
};

static struct image
open_image(void)
{
    struct image image = { NULL, 0 };
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    if (fd != -1 && fstat(fd, &st) == 0 && st.st_size > 0) {
        void *m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        image.bytes = m != MAP_FAILED ? m : NULL;
        image.size = (size_t)st.st_size;
    }
    if (fd != -1) {
        close(fd);
    }
    return image;
}

/* size bytes at an offset of the file, or NULL. */
static const void *
part(const struct image *image, uint64_t offset, uint64_t size)
{
    if (offset > image->size || size > image->size - offset) {
        return NULL;
    }
    return image->bytes + offset;
}

/* Section i's head, copied: the file need not be aligned. */
static bool
section(const struct image *image, unsigned i, ElfW(Shdr) * out)
{
    ElfW(Ehdr) head;
    const void *at = part(image, 0, sizeof(head));

    if (at == NULL) {
        return false;
    }
    memcpy(&head, at, sizeof(head));
    if (i >= head.e_shnum || head.e_shentsize != sizeof(*out)) {
        return false;
    }
    at = part(image, head.e_shoff + (uint64_t)i * sizeof(*out), sizeof(*out));
    if (at == NULL) {
        return false;
    }
    memcpy(out, at, sizeof(*out));
    return true;
}

/* The function that offset is in; *into: how far.  NULL if none is known. */
static const char *
function_in(const struct image *image, const ElfW(Shdr) * table,
            uint64_t offset, uint64_t *into)
{
    ElfW(Shdr) text;
    const char *names;

    if (!section(image, table->sh_link, &text)) {
        return NULL;
    }
    names = part(image, text.sh_offset, text.sh_size);
    if (names == NULL || text.sh_size == 0 || names[text.sh_size - 1] != '\0') {
        return NULL;
    }
    for (uint64_t i = 0; i < table->sh_size / sizeof(ElfW(Sym)); i++) {
        ElfW(Sym) s;
        const void *at =
            part(image, table->sh_offset + i * sizeof(s), sizeof(s));

        if (at == NULL) {
            break;
        }
        memcpy(&s, at, sizeof(s));
        if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && offset >= s.st_value &&
            offset - s.st_value < s.st_size && s.st_name < text.sh_size) {
            *into = offset - s.st_value;
            return names + s.st_name;
        }
    }
    return NULL;
}

/* " (name+0xNN)" of the program's function, added to dst. */
static void
add_own(uint64_t offset, uint64_t shift, char *dst, size_t size)
{
    struct image image = open_image();
    ElfW(Shdr) table;
    uint64_t into = 0;

    if (image.bytes == NULL) {
        return;
    }
    for (unsigned i = 0; section(&image, i, &table); i++) {
        const char *name = table.sh_type == SHT_SYMTAB
                               ? function_in(&image, &table, offset, &into)
                               : NULL;

        if (name != NULL) {
            snprintf(dst, size, " (%.80s+0x%llx)", name,
                     (unsigned long long)(into + shift));
            break;
        }
    }
    munmap((void *)(uintptr_t)image.bytes, image.size);
}

static void
add_exported(uint64_t address, uint64_t shift, char *dst, size_t size)
{
    Dl_info info;

    if (dladdr((const void *)(uintptr_t)address, &info) != 0 &&
        info.dli_sname != NULL) {
        snprintf(
            dst, size, " (%.80s+0x%llx)", info.dli_sname,
            (unsigned long long)(address + shift - (uintptr_t)info.dli_saddr));
    }
}

bool
symbols_tell(uint64_t address, bool before, char *dst, size_t size,
             uint64_t *offset)
{
    uint64_t shift = before && address > 0 ? 1 : 0;
    struct object o = { .address = address - shift };

    if (dl_iterate_phdr(look_in, &o) == 0) {
        snprintf(dst, size, "0x%llx", (unsigned long long)address);
        return false;
    }
    bool own = o.path[0] == '\0';
    const char *slash = strrchr(o.path, '/');
    const char *name = own ? "weir" : slash != NULL ? slash + 1 : o.path;
    int n = snprintf(dst, size, "%.60s+0x%llx", name,
                     (unsigned long long)(address - o.base));

    if (n < 0 || (size_t)n >= size) {
        return own;
    }
    if (own) {
        *offset = o.address - o.base;
        add_own(*offset, shift, dst + n, size - (size_t)n);
    } else {
        add_exported(o.address, shift, dst + n, size - (size_t)n);
    }
    return own;
}

/* ---- build id ---- */

struct text {
    char *dst;
    size_t size;
};

static void
write_digits(const struct text *out, const uint8_t *id, size_t len)
{
    for (size_t i = 0; i < len && 2 * i + 3 <= out->size; i++) {
        snprintf(out->dst + 2 * i, 3, "%02x", id[i]);
    }
}

static void
look_for_id(const struct text *out, const uint8_t *note, size_t left)
{
    ElfW(Nhdr) head;

    while (left >= sizeof(head)) {
        memcpy(&head, note, sizeof(head));
        size_t name = (head.n_namesz + 3UL) & ~3UL;
        size_t all = sizeof(head) + name + ((head.n_descsz + 3UL) & ~3UL);

        if (all > left) {
            return;
        }
        if (head.n_type == NT_GNU_BUILD_ID && name == 4) {
            write_digits(out, note + sizeof(head) + name, head.n_descsz);
            return;
        }
        note += all;
        left -= all;
    }
}

static int
look_at_notes(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_NOTE) {
            uintptr_t at = info->dlpi_addr + p->p_vaddr;

            look_for_id(arg, (const uint8_t *)at, p->p_memsz);
        }
    }
    return 1; /* the first object is the program */
}

void
symbols_build_id(char *dst, size_t size)
{
    struct text out = { dst, size };

    dst[0] = '\0';
    dl_iterate_phdr(look_at_notes, &out);
}
