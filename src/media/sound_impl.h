/*
 * Headers of sound, read in the words of their formats.
 *
 *   aac.c  AudioSpecificConfig
 *   ac3.c  syncframes of AC-3 and E-AC-3
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_SOUND_IMPL_H
#define MEDIA_SOUND_IMPL_H

#include "base/str.h"

struct aac_config {
    uint32_t object;    /* audio object type: 2 is LC, 5 HE-AAC */
    uint32_t core_rate; /* of the samples that are counted */
    uint32_t rate;      /* of what comes out: twice that with SBR */
    uint32_t channels;  /* of what comes out; 0: told elsewhere */
    uint32_t samples;   /* in a frame, of the core */
};

/* AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1).  -1: cut off. */
int aac_read(struct aac_config *aac, struct str config);

struct ac3_frame {
    bool enhanced;  /* E-AC-3 */
    uint32_t type;  /* strmtyp of E-AC-3; 1: a dependent substream */
    uint32_t fscod; /* 3: a reduced rate of E-AC-3 */
    uint32_t bsid, bsmod, acmod, lfeon;
    uint32_t rate_code; /* frmsizecod / 2 of AC-3 */
    uint32_t size;      /* bytes of the frame, of E-AC-3 */
    uint32_t rate, channels;
    uint32_t samples;
};

/* How a frame begins (ETSI TS 102 366, 4.3, 4.4, E.1.2, E.1.3).  -1: no frame,
 * or cut off. */
int ac3_read(struct ac3_frame *frame, struct str body);

/* "fLaC", the header of a block, STREAMINFO (RFC 9639, 8). */
#define FLAC_CONFIG 42u

#endif
