/*
 * The page for people: its markup.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/page.h"
#include "page.h"

#include <stddef.h>

#include "http/http.h"

const char *const page_html[] = {
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>Speech - weir</title>\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<link rel=\"stylesheet\" href=\"_page.css\">\n"
    "<script type=\"module\" src=\"_page.js\"></script>\n"
    "</head>\n"
    "<body>\n"
    "<main>\n",
    http_page_console,
    "<h1>Speech</h1>\n"
    "<noscript><p class=\"bad\">This page needs JavaScript. Without it:\n"
    "<code>?text=Hello</code> behind this address is a sound, and\n"
    "<a href=\"voices\">voices</a> lists the voices.</p></noscript>\n"
    "<form id=\"form\" novalidate>\n"
    "<p class=\"wide\"><label for=\"text\">Text</label>\n"
    "<textarea id=\"text\" rows=\"4\" required aria-describedby=\"state\">\n"
    "Hello. This is the sound of this voice.</textarea></p>\n"
    "<p><label for=\"filter\">Find a voice</label>\n"
    "<input id=\"filter\" type=\"search\" autocomplete=\"off\"\n"
    " placeholder=\"name or language\" aria-controls=\"voice\"></p>\n"
    "<p><label for=\"voice\">Voice</label>\n"
    "<select id=\"voice\"></select></p>\n"
    "<p><label for=\"speaker\">Variant</label>\n"
    "<select id=\"speaker\"></select></p>\n"
    "<p><label for=\"length_scale\">Length</label>\n"
    "<input id=\"length_scale\" type=\"range\" min=\"0.4\" max=\"4\" "
    "step=\"0.05\" value=\"1\">\n"
    "<output for=\"length_scale\" id=\"length_scale_shown\"></output></p>\n"
    "<p><label for=\"noise_scale\">Variation of pitch</label>\n"
    "<input id=\"noise_scale\" type=\"range\" min=\"-0.333\" max=\"5\" "
    "step=\"0.333\"\n"
    " value=\"-0.333\">\n"
    "<output for=\"noise_scale\" id=\"noise_scale_shown\"></output></p>\n"
    "<p><label for=\"noise_w_scale\">Variation of word lengths</label>\n"
    "<input id=\"noise_w_scale\" type=\"range\" min=\"0\" max=\"2\" "
    "step=\"0.1\" value=\"0\">\n"
    "<output for=\"noise_w_scale\" id=\"noise_w_scale_shown\"></output></p>\n"
    "<p class=\"wide buttons\"><button id=\"speak\" "
    "type=\"submit\">Speak</button>\n"
    "<button id=\"reset\" type=\"reset\">Reset</button></p>\n"
    "</form>\n"
    "<p id=\"state\" role=\"status\">asking for the voices</p>\n"
    "<p id=\"error\" class=\"bad\" role=\"alert\" hidden></p>\n"
    "<section id=\"sound\" aria-label=\"Sound\" hidden>\n"
    "<audio id=\"audio\" controls></audio>\n"
    "<p><a id=\"download\" download=\"speech.wav\">Download</a></p>\n"
    "<dl id=\"facts\"></dl>\n"
    "</section>\n"
    "<section aria-labelledby=\"same\">\n"
    "<h2 id=\"same\">The same from a terminal</h2>\n"
    "<pre tabindex=\"0\" aria-labelledby=\"same\"><code "
    "id=\"curl\"></code></pre>\n"
    "</section>\n"
    "</main>\n"
    "</body>\n"
    "</html>\n",
    NULL,
};
