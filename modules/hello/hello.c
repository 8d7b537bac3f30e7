/*
 * The living skeleton: GET /hello answers with a greeting.
 *
 * A module is this one folder.  It has settings (rows), a state for each
 * layer of a location that names it, and routes.  To make your own:
 * "cp -r modules/hello modules/mine", rename, ./configure, make;
 * weir-module(7) explains every line.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/verb.h"
#include "app/module.h"
#include "base/buf.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "proc/metric.h"

/* Filled by the rows below: one for each layer in weir.conf. */
struct settings {
    struct str greeting;
    int64_t repeat;
    struct conf_instance instance; /* struct greeter */
};

/* An item of the list "hello" at the root of weir.conf, which layers
 * name: what several of them share is written once. */
struct greeter {
    struct str name, signature;
};

struct root {
    struct conf_groups greeters; /* struct greeter */
};

/* The state of a layer while a worker runs. */
struct hello {
    struct buf text; /* owned; the whole answer */
};

static const struct conf_key keys[] = {
    ROW(settings, greeting, CONF_STRING, .min = 1, .max = 100,
        .preset = "hello", .help = "Text of the answer."),
    ROW(settings, repeat, CONF_INT, .min = 1, .max = 9, .preset = "1",
        .help = "How many times it is said."),
    ROW(settings, instance, CONF_INSTANCE, .of = "hello", .preset = "",
        .help = "Name of the item of hello that signs; the only one if left "
                "out."),
    CONF_END,
};

static const struct conf_key greeter_keys[] = {
    ROW(greeter, name, CONF_STRING, .min = 1, .max = 64,
        .help = "The name by which a layer chooses it, as its instance."),
    ROW(greeter, signature, CONF_STRING, .max = 100, .preset = "",
        .help = "A last line of the answer; empty: none."),
    CONF_END,
};

static const struct conf_key root_keys[] = {
    ROW_AS("hello", root, greeters, CONF_GROUPS, .keys = greeter_keys,
           .size = sizeof(struct greeter), .preset = "", .named = true,
           .help = "Greeters, by name; see hello(7)."),
    CONF_END,
};

/* Its metrics, shown by GET /metrics; weir adds the processes up. */
static struct metric metrics[] = {
    { .name = "weir_hello_greetings_total",
      .help = "Greetings that module hello gave." },
    METRIC_END,
};

static enum http_result
on_hello(struct http_request *r, void *state)
{
    const struct hello *h = state;

    metric_add(&metrics[0], 0, 1);
    return http_reply(r, 200, "text/plain; charset=utf-8", buf_str(&h->text));
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/hello", .handler = on_hello },
    { .path = NULL },
};

/* In each worker, for each layer: 0, or -1 with err and nothing starts. */
static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    const struct settings *s = layer->settings;
    const struct greeter *greeter = s->instance.settings;
    struct hello *h = mem_zero(sizeof(*h));

    (void)r; /* the routes are the same whatever the settings */
    (void)err;
    buf_init(&h->text, 1024);
    for (int64_t i = 0; i < s->repeat; i++) {
        buf_printf(&h->text, "%.*s\n", STR_ARGS(s->greeting));
    }
    if (greeter != NULL && greeter->signature.len > 0) {
        buf_printf(&h->text, "%.*s\n", STR_ARGS(greeter->signature));
    }
    *state = h;
    return 0;
}

static void
stop(void *state)
{
    struct hello *h = state;

    buf_clear(&h->text);
    mem_free(&h);
}

/* "weirctl hello": runs in the master, which has no layers of ours. */
static enum control_result
on_greet(struct control_call *call)
{
    struct str name = control_word(call, 0);

    if (name.len == 0) {
        name = STR("operator");
    }
    return control_ok(call, "hello, %.*s", STR_ARGS(name));
}

static const struct control_verb verbs[] = {
    { .words = "hello",
      .arguments = "[NAME]",
      .help = "Says hello.",
      .level = CONTROL_USER,
      .most = 1,
      .run = on_greet },
    { .words = NULL },
};

const struct module hello_module = {
    .name = "hello",
    .about = "answers GET /hello; the skeleton to copy",
    .keys = keys,
    .settings_size = sizeof(struct settings),
    .root = { root_keys, sizeof(struct root) },
    .start = start,
    .stop = stop,
    .routes = routes,
    .verbs = verbs,
    .metrics = metrics,
};
