/*
 * The three texts of the page for people (page.c), each in a file of its own:
 * page_html.c, page_script.c, page_style.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_PAGE_H
#define MODULES_DOWNLOADS_PAGE_H

/* Each in pieces, because a compiler need not take a longer string; UTF-8, NULL
 * behind the last. */
extern const char *const downloads_page_html[];
extern const char *const downloads_page_script[];
extern const char *const downloads_page_style[];

#endif
