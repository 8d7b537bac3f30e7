"""The publishers' zoo: a class for each family of encoders (README.md)."""
# SPDX-License-Identifier: BSD-2-Clause

from encoders import boxes, cameras, dji, flash, fmle, obs, phones, programs
from encoders import wirecast

FAMILIES = [family for module in (obs, fmle, wirecast, programs, phones, boxes,
                                  dji, cameras, flash)
            for family in module.FAMILIES]
