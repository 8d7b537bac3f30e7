"""MPEG-2 transport streams: judged, and samples taken out.

"13818-1" is ISO/IEC 13818-1.
"""
# SPDX-License-Identifier: BSD-2-Clause

from hls_fmp4 import Sample
from hls_playlist import Faults

RULES = {
    "packets": "13818-1 2.4.3.2: packets of 188 bytes that begin with 0x47",
    "tables-first": "8216bis 3.1.1: PAT and PMT begin a segment",
    "crc": "13818-1 2.4.4: CRC_32 of a section",
    "continuity": "13818-1 2.4.3.3: counters go on",
    "unknown-pid": "13818-1 2.4.4.8: only streams of the PMT",
    "pes": "13818-1 2.4.3.6: a PES packet begins with 000001",
    "pes-length": "13818-1 2.4.3.7: PES_packet_length; 0 for pictures alone",
    "pts": "8216bis 3.1.1: a PTS in each PES packet",
    "dts": "13818-1 2.4.3.7: DTS <= PTS, decode times grow",
    "pcr": "13818-1 2.7.2: a PCR at least each 100 ms, on its own PID",
    "pcr-late": "13818-1 2.4.2: PCR <= DTS",
    "transport-error": "13818-1 2.4.3.3: no error, no scrambling",
}
CLOCK = 90000
WRAP = 1 << 33


class TsFaults(Faults):
    def add(self, rule, what, sources=RULES):
        super().add(rule, what, sources)


def crc32(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04c11db7 if crc & 0x80000000 else 0)) \
                & 0xffffffff
    return crc


def timestamp(b):
    return (b[0] >> 1 & 7) << 30 | b[1] << 22 | b[2] >> 1 << 15 | \
        b[3] << 7 | b[4] >> 1


def nearest(value, last):
    """A time of 33 bits as the one nearest to the last, without wraps."""
    if last is None:
        return value
    return last + (value - last + WRAP // 2) % WRAP - WRAP // 2


class Ts:
    """A demultiplexer that goes on from segment to segment.

    samples: what was added, as in fMP4; track is the PID, times are of 90 kHz
    and do not wrap; data is the payload of a PES packet."""

    def __init__(self):
        self.faults = TsFaults()
        self.samples = []
        self.streams = {}  # PID: stream_type
        self.pcr_pid = self.pmt_pid = None
        self._counters, self._pes, self._times = {}, {}, {}
        self._pcr = None

    def add(self, data, restart=False):
        """A part or segment; returns its samples.  restart: a discontinuity
        is before it."""
        before = len(self.samples)
        if restart:
            self._counters, self._times, self._pcr = {}, {}, None
        if len(data) % 188 or any(data[i] != 0x47
                                  for i in range(0, len(data), 188)):
            self.faults.add("packets", f"{len(data)} bytes")
            return []
        for at in range(0, len(data), 188):
            self._packet(data[at:at + 188])
        for pid in list(self._pes):
            self._end(pid)
        return self.samples[before:]

    def begins_with_tables(self, data):
        pids = [(data[i + 1] & 31) << 8 | data[i + 2] for i in (0, 188)
                if i + 188 <= len(data)]
        # The first segment tells which PID the PMT has.
        if len(pids) < 2 or pids != [0, self.pmt_pid or pids[1]]:
            self.faults.add("tables-first", str(pids))

    def _packet(self, p):
        pid = (p[1] & 31) << 8 | p[2]
        if p[1] & 0x80 or p[3] & 0xc0:
            self.faults.add("transport-error", f"PID {pid}")
        has, counter, at = p[3] >> 4 & 3, p[3] & 15, 4
        key = False
        if has & 2:
            at = 5 + p[4]
            if p[4] > 0:
                key = bool(p[5] & 0x40)
                if p[5] & 0x80:  # discontinuity_indicator
                    self._counters.pop(pid, None)
                if p[5] & 0x10:
                    self._on_pcr(pid, p[6:12])
        last = self._counters.get(pid)
        if last is not None and has & 1 and counter != (last + 1) % 16:
            self.faults.add("continuity", f"PID {pid}: {last}, {counter}")
        self._counters[pid] = counter
        if has & 1:
            self._payload(pid, p[at:], bool(p[1] & 0x40), key)

    def _on_pcr(self, pid, b):
        base = b[0] << 25 | b[1] << 17 | b[2] << 9 | b[3] << 1 | b[4] >> 7
        base = nearest(base, self._pcr)
        if pid != self.pcr_pid or (self._pcr is not None and not
                                   0 <= base - self._pcr <= CLOCK // 10):
            self.faults.add("pcr", f"PID {pid}: {self._pcr}, {base}")
        self._pcr = base

    def _payload(self, pid, data, begins, key):
        if pid in (0, self.pmt_pid):
            self._table(pid, data[1 + data[0]:])
        elif pid == 0x1fff or pid == 0x11:
            pass  # padding, SDT
        elif pid not in self.streams:
            self.faults.add("unknown-pid", str(pid))
        elif begins:
            self._end(pid)
            self._pes[pid] = (bytearray(data), key, self._pcr)
        elif pid in self._pes:
            self._pes[pid][0].extend(data)

    def _table(self, pid, s):
        size = ((s[1] & 15) << 8 | s[2]) + 3
        if crc32(s[:size]) != 0:
            self.faults.add("crc", f"PID {pid}")
        elif pid == 0:
            self.pmt_pid = (s[10] & 31) << 8 | s[11]
        else:
            self.pcr_pid = (s[8] & 31) << 8 | s[9]
            self.streams = {}
            at = 12 + ((s[10] & 15) << 8 | s[11])
            while at < size - 4:
                self.streams[(s[at + 1] & 31) << 8 | s[at + 2]] = s[at]
                at += 5 + ((s[at + 3] & 15) << 8 | s[at + 4])

    def _end(self, pid):
        if pid not in self._pes:
            return
        data, key, pcr = self._pes.pop(pid)
        if data[:3] != b"\0\0\1":
            self.faults.add("pes", f"PID {pid}")
            return
        said = data[4] << 8 | data[5]
        pictures = data[3] & 0xf0 == 0xe0
        if said != len(data) - 6 and not (said == 0 and pictures):
            self.faults.add("pes-length", f"{said}, has {len(data) - 6}")
        flags = data[7] >> 6
        if not flags & 2:
            self.faults.add("pts", f"PID {pid}")
            return
        last = self._times.get(pid, self._pcr)
        pts = nearest(timestamp(data[9:14]), last)
        dts = nearest(timestamp(data[14:19]), last) if flags == 3 else pts
        before = self._times.get(pid)
        if dts > pts or (before is not None and dts <= before):
            self.faults.add("dts", f"{before}, {dts}, shown {pts}")
        if pcr is not None and pid == self.pcr_pid and \
                dts < nearest(pcr, dts):
            self.faults.add("pcr-late", f"{pcr}, decoded {dts}")
        self._times[pid] = dts
        self.samples.append(Sample(pid, dts, pts - dts, None,
                                   key or not pictures,
                                   bytes(data[9 + data[8]:])))
