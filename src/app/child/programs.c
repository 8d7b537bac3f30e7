/*
 * From a role's rights to its starter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/programs.h"

#include <link.h>
#include <unistd.h>

#include "app/child/confine.h"
#include "app/module.h"
#include "base/mem.h"
#include "proc/life.h"

/* ---- the dynamic loader ---- */

static int
find_loader(struct dl_phdr_info *object, size_t size, void *path)
{
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];

        if (p->p_type == PT_INTERP) {
            *(const char **)path =
                (const char *)(uintptr_t)(object->dlpi_addr + p->p_vaddr);
        }
    }
    return 1; /* the first object is weir itself */
}

/* The kernel executes the loader of a program; it is weir's own. */
static void
add_loader(struct rights *r)
{
    static const char *const paths[] = { "/usr", "/lib", "/lib64",
                                         "/etc/ld.so.cache" };
    const char *loader = NULL;

    dl_iterate_phdr(find_loader, &loader);
    if (loader != NULL) {
        rights_execute(r, str_from(loader));
    }
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (access(paths[i], F_OK) == 0) {
            rights_read(r, str_from(paths[i]));
        }
    }
    rights_write(r, STR("/dev/null"));
}

/* ---- starting ---- */

static int
find_users(struct starter_options *o, const struct settings *s,
           struct errmsg *err)
{
    if (geteuid() == 0 &&
        privilege_check_program(s->program_user, s->user, err) == -1) {
        return -1;
    }
    if (privilege_ids(s->user, s->group, &o->role, err) == -1) {
        return -1;
    }
    return privilege_program(s->program_user, &o->program, err);
}

struct starter *
programs_start(const char *role, const struct rights *r,
               const struct settings *s, struct errmsg *err)
{
    struct rights rights = { .fork = true, .supervise = r->supervise };
    const struct sandbox sandbox = confine_programs(s, &rights);
    struct str *folders = mem_alloc((r->write.count + 1) * sizeof(*folders));
    struct starter_options o = {
        .name = role,
        .programs = r->programs.items,
        .program_count = r->programs.count,
        .folders = folders,
        .folder_count = r->write.count + 1,
        .sandbox = &sandbox,
        .cgroups = true,
    };
    struct starter *starter = NULL;

    folders[0] = STR("/");
    for (size_t i = 0; i < r->write.count; i++) {
        folders[i + 1] = r->write.items[i];
    }
    rights_add(&rights, r);
    add_loader(&rights);
    if (find_users(&o, s, err) == 0) {
        starter = starter_new(&o, err);
    }
    rights_clear(&rights);
    mem_free(&folders);
    return starter;
}

/* ---- being wanted ---- */

static bool
has_programs(const struct role *r, const void *module_settings)
{
    struct rights rights = { .fork = false };
    bool has;

    if (r->may != NULL) {
        r->may(module_settings, &rights);
    }
    has = rights.programs.count > 0;
    rights_clear(&rights);
    return has;
}

bool
programs_wanted(const struct settings *s)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        const struct role *r = modules[i]->roles;

        for (; r != NULL && r->name != NULL; r++) {
            if ((r->wanted == NULL || r->wanted(s)) &&
                has_programs(r, settings_of_module(s, modules[i]))) {
                return true;
            }
        }
    }
    return false;
}
