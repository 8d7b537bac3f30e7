/*
 * Layers: a module with its settings, in a list of a location or of a module
 * that has layers itself.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "app/module.h"
#include "conf/rows.h"

/* ---- rows ---- */

int
settings_choose_module(struct str value, struct conf_choice *choice,
                       struct errmsg *err)
{
    const struct module *m = module_find(value);

    if (m == NULL) {
        return module_unknown(value, err);
    }
    choice->what = m;
    choice->keys = m->keys;
    choice->size = m->settings_size;
    return 0;
}

int
settings_check_module(const struct conf_extra *module, struct errmsg *err)
{
    const struct module *m = module->what;

    return m->check == NULL ? 0 : m->check(module->settings, err);
}

int
settings_check_layer(const void *layer, struct errmsg *err)
{
    const struct http_layer_settings *s = layer;

    if (s->module.what == NULL) {
        return errmsg_set(err, "a layer needs a module");
    }
    return settings_check_module(&s->module, err);
}

const struct conf_key settings_layer_keys[] = {
    ROW_WHERE(http_layer_settings),
    ROW(http_layer_settings, module, CONF_EXTRA,
        .choose = settings_choose_module,
        .help = "The module that answers here; its settings stand beside "
                "it."),
    CONF_END,
};

/* ---- looking at them ---- */

const struct conf_extra *
settings_http_layer(const struct http_location_settings *l, size_t i)
{
    const struct http_layer_settings *all = l->layers.items;

    if (l->module.what != NULL) {
        return i == 0 ? &l->module : NULL;
    }
    return i < l->layers.count ? &all[i].module : NULL;
}

struct visit {
    void (*each)(void *arg, const struct conf_extra *layer);
    void *arg;
};

static void visit_list(void *arg, const struct conf_groups *layers);

static void
visit(const struct visit *v, const struct conf_extra *layer)
{
    const struct module *m = layer->what;

    v->each(v->arg, layer);
    if (m != NULL && m->layers != NULL) {
        m->layers(layer->settings, visit_list, (void *)(uintptr_t)v);
    }
}

static void
visit_list(void *arg, const struct conf_groups *layers)
{
    const struct http_layer_settings *all = layers->items;

    for (size_t i = 0; i < layers->count; i++) {
        visit(arg, &all[i].module);
    }
}

static void
visit_location(const struct visit *v, const struct http_location_settings *l)
{
    const struct conf_extra *layer;

    for (size_t n = 0; (layer = settings_http_layer(l, n)) != NULL; n++) {
        visit(v, layer);
    }
}

void
settings_each_layer(const struct settings *s,
                    void (*each)(void *arg, const struct conf_extra *l),
                    void *arg)
{
    const struct visit v = { each, arg };

    for (size_t i = 0; i < s->http.servers.count; i++) {
        const struct conf_groups *locations =
            &settings_http_server(&s->http, i)->locations;
        const struct http_location_settings *all = locations->items;

        for (size_t k = 0; k < locations->count; k++) {
            visit_location(&v, &all[k]);
        }
    }
}

struct standing {
    struct str location;
    const struct regex *pattern;
    struct errmsg *err;
    int result;
};

static void
check_at(void *arg, const struct conf_extra *layer)
{
    const struct module *m = layer->what;
    struct standing *s = arg;

    if (s->result == 0 && m != NULL && m->check_at != NULL) {
        s->result =
            m->check_at(layer->settings, s->location, s->pattern, s->err);
    }
}

int
settings_check_layers_at(const struct http_location_settings *l,
                         const struct regex *pattern, struct errmsg *err)
{
    struct standing s = { l->path, pattern, err, 0 };
    const struct visit v = { check_at, &s };

    visit_location(&v, l);
    return s.result;
}
