/*
 * Functions that libespeak-ng calls and that do nothing in this program: its
 * sound device (the prototypes of <pcaudio/audio.h>), and of the C library
 * system() and execlp().
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_REFUSED_H
#define MODULES_TTS_WEIR_SPEAKER_REFUSED_H

#include <stddef.h>
#include <stdint.h>

struct audio_object;

struct audio_object *create_audio_device_object(const char *device,
                                                const char *application,
                                                const char *description);
int audio_object_open(struct audio_object *object, int format, uint32_t rate,
                      uint8_t channels);
void audio_object_close(struct audio_object *object);
void audio_object_destroy(struct audio_object *object);
int audio_object_write(struct audio_object *object, const void *data,
                       size_t bytes);
int audio_object_drain(struct audio_object *object);
int audio_object_flush(struct audio_object *object);
const char *audio_object_strerror(struct audio_object *object, int error);

#endif
