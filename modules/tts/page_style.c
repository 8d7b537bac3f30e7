/*
 * The page for people: how it looks, in the colours of the console.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "page.h"

#include <stddef.h>

const char *const page_style[] = {
    ":root {\n"
    "  color-scheme: light dark;\n"
    "  --ground: #f6f7f7; --card: #ffffff; --text: #1b2426; --soft: #566468;\n"
    "  --edge: #7f8c90; --accent: #0f766e; --bad: #b91c1c; --tint: #fdf3e3;\n"
    "  font: 15px/1.5 system-ui, sans-serif;\n"
    "}\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root {\n"
    "    --ground: #111718; --card: #192123; --text: #e2e9ea; --soft: "
    "#9aa9ac;\n"
    "    --edge: #6c7c80; --accent: #5eead4; --bad: #f87171; --tint: #2d2615;\n"
    "  }\n"
    "}\n"
    "*, ::before, ::after { box-sizing: border-box; }\n"
    "[hidden] { display: none !important; }\n"
    "body { margin: 0; background: var(--ground); color: var(--text); }\n"
    "main { max-width: 60rem; margin: 0 auto;\n"
    "  padding: 1rem clamp(.75rem, 3vw, 2rem) 3rem; }\n"
    "h1, h2, p, dl, dd, pre { margin: 0 0 .8rem; }\n"
    "h1 { font-size: 1.3rem; }\n"
    "h2 { font-size: 1rem; }\n"
    "a { color: var(--accent); }\n"
    ":focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; "
    "}\n"
    "form { display: grid; gap: 0 1.5rem;\n"
    "  grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); "
    "}\n"
    ".wide { grid-column: 1 / -1; }\n"
    "label { display: block; color: var(--soft); font-size: .9rem; }\n"
    "input, select, textarea, button { font: inherit; color: inherit;\n"
    "  background: var(--card); border: 1px solid var(--edge); border-radius: "
    "6px;\n"
    "  padding: .3rem .7rem; min-height: 2.2rem; width: 100%; }\n"
    "input[type=range] { padding: 0; border: 0; background: none;\n"
    "  accent-color: var(--accent); }\n"
    "[aria-invalid=true] { border-color: var(--bad); border-width: 2px; }\n"
    "output { color: var(--soft); font-size: .9rem; }\n"
    ".buttons { display: flex; gap: .6rem; }\n"
    "button { width: auto; cursor: pointer; color: var(--accent); }\n"
    "button:hover { border-color: var(--accent); }\n"
    ".bad { background: var(--tint); border: 1px solid var(--bad);\n"
    "  border-radius: 8px; padding: .6rem 1rem; overflow-wrap: anywhere; }\n"
    "audio { width: 100%; }\n"
    "dl { display: grid; gap: .2rem 1.5rem;\n"
    "  grid-template-columns: repeat(auto-fill, minmax(min(10rem, 100%), "
    "1fr)); }\n"
    "dt { color: var(--soft); font-size: .85rem; }\n"
    "dd { margin: 0; }\n"
    "pre { background: var(--card); border: 1px solid var(--edge);\n"
    "  border-radius: 8px; padding: .6rem 1rem; overflow-x: auto; }\n"
    "code { font: .87rem/1.5 ui-monospace, monospace; white-space: pre-wrap;\n"
    "  overflow-wrap: anywhere; }\n",
    NULL,
};
