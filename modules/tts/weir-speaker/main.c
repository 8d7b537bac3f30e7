/*
 * weir-speaker: text to sound, with libespeak-ng.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include <espeak-ng/speak_lib.h>
#include <stdio.h>

int
main(void)
{
    printf("weir-speaker, espeak-ng %s\n", espeak_Info(NULL));
    return 0;
}
