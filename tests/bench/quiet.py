"""How much of the machine others take while something is measured: figures
compare when nobody does."""

import os
import time

MOST = 0.05  # of all processors; with more there is no verdict
TICKS = os.sysconf('SC_CLK_TCK')
KERNEL = 2   # the parent of the kernel's threads
SHORTEST = 0.5  # seconds that tell anything


def processes():
    """{pid: (parent, ticks of it and of children that it has waited for)}"""
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', 'rb') as f:
                    fields = f.read().rpartition(b')')[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return found


def strangers(own):
    """Ticks of all processes that are neither ours nor the kernel's."""
    all_of_them = processes()

    def is_strange(pid):
        while pid in all_of_them:
            if pid in (own, KERNEL):
                return False
            pid = all_of_them[pid][0]
        return True
    return sum(ticks for pid, (_, ticks) in all_of_them.items()
               if is_strange(pid))


def stolen():
    """Ticks in which the host ran something else."""
    with open('/proc/stat', encoding='ascii') as f:
        return int(f.readline().split()[8])


class Quiet:
    """What others took since it was made, or asked the last time."""

    def __init__(self):
        self.last = 0
        self.begin()

    def begin(self):
        self.at = time.monotonic()
        self.strange, self.stolen = strangers(os.getpid()), stolen()

    def taken(self):
        """Of all processors: 0 to 1.  Several bars of one measurement are
        asked for one after the other, and get the same."""
        seconds = time.monotonic() - self.at
        if seconds > SHORTEST:
            ticks = strangers(os.getpid()) - self.strange
            ticks = max(ticks, 0) + stolen() - self.stolen
            self.last = ticks / TICKS / seconds / os.cpu_count()
            self.begin()
        return self.last

    def verdict(self, held):
        """Of a bar: the word for it, and whether it is shown to be held."""
        taken = self.taken()
        if taken > MOST:
            return f'NO VERDICT, others took {taken:.0%} of the machine:', \
                False
        return ('held  ' if held else 'MISSED'), held
