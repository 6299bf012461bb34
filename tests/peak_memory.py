"""The peak memory of this process."""

from __future__ import annotations

import sys
from pathlib import Path


def peak_megabytes() -> float:
    """Return the most memory that this process held, in MB.

    Linux keeps two figures: that of ``getrusage`` begins with the peak of the process that started this one, so the
    one of the present program is read from ``/proc``.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
