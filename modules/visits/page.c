/*
 * The page for people: two answers that never change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/page.h"
#include "visits.h"

#define ALLOWED "script-src 'self'; connect-src 'self'"

static const char *const page[] = {
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>Visits</title>\n"
    "<script type=\"module\" src=\"_page.js\"></script>\n",
    http_page_console,
    "<h1>Visits</h1>\n"
    "<p id=\"state\" role=\"status\">asking</p>\n"
    "<table>\n"
    "<thead><tr><th scope=\"col\">Room<th scope=\"col\">Visits</thead>\n"
    "<tbody id=\"rooms\"></tbody>\n"
    "</table>\n"
    "</html>\n",
    NULL,
};

/* The next question is asked when the last one is answered.  textContent makes
 * no markup of a name. */
static const char *const script[] = {
    "async function show() {\n"
    "  const state = document.getElementById('state');\n"
    "  const rooms = document.getElementById('rooms');\n"
    "  try {\n"
    "    const answer = await fetch('./', { cache: 'no-store' });\n"
    "    const said = await answer.json();\n"
    "    if (!answer.ok) throw new Error(said.message);\n"
    "    rooms.replaceChildren();\n"
    "    for (const { room, visits } of said.rooms) {\n"
    "      const row = rooms.insertRow();\n"
    "      row.insertCell().textContent = room;\n"
    "      row.insertCell().textContent = visits;\n"
    "    }\n"
    "    state.textContent = said.instance;\n"
    "  } catch (error) {\n"
    "    state.textContent = error.message;\n"
    "  }\n"
    "  setTimeout(show, 2000);\n"
    "}\n"
    "show();\n",
    NULL,
};

enum http_result
visits_on_page(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/html; charset=utf-8", ALLOWED, page);
}

enum http_result
visits_on_script(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_page(r, "text/javascript; charset=utf-8", ALLOWED,
                           script);
}
