/*
 * Functions that libespeak-ng calls and that do nothing in this program: sound
 * comes out of it by its callback alone, and it starts nothing.
 *
 * The library finds these before those of libpcaudio and of the C library.
 * Else it would look for a sound server, make a directory for it in /tmp, run
 * sox for SSML's <audio>, or mbrola.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "refused.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
refuse(void)
{
    errno = EPERM;
    return -1;
}

/* ---- the sound device: there is none ---- */

struct audio_object *
create_audio_device_object(const char *device, const char *application,
                           const char *description)
{
    (void)device;
    (void)application;
    (void)description;
    return NULL;
}

int
audio_object_open(struct audio_object *object, int format, uint32_t rate,
                  uint8_t channels)
{
    (void)object;
    (void)format;
    (void)rate;
    (void)channels;
    return refuse();
}

void
audio_object_close(struct audio_object *object)
{
    (void)object;
}

void
audio_object_destroy(struct audio_object *object)
{
    (void)object;
}

int
audio_object_write(struct audio_object *object, const void *data, size_t bytes)
{
    (void)object;
    (void)data;
    (void)bytes;
    return refuse();
}

int
audio_object_drain(struct audio_object *object)
{
    (void)object;
    return 0;
}

int
audio_object_flush(struct audio_object *object)
{
    (void)object;
    return 0;
}

const char *
audio_object_strerror(struct audio_object *object, int error)
{
    (void)object;
    (void)error;
    return "there is no sound device";
}

/* ---- programs ---- */

int
system(const char *command)
{
    (void)command;
    return refuse();
}

int
execlp(const char *file, const char *argument, ...)
{
    (void)file;
    (void)argument;
    return refuse();
}
