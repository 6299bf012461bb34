"""``python -m goldbench.records FOLDER`` writes the published JSON Schemas."""

from __future__ import annotations

import sys
from pathlib import Path

from goldbench.records.published import write_schemas

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
