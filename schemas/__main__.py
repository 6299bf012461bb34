"""``python -m goldbench.schemas [FOLDER]`` writes the published JSON Schemas."""

from __future__ import annotations

import sys
from pathlib import Path

from goldbench.schemas.published import FOLDER, write_schemas

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
