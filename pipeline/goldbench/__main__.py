"""``python -m goldbench`` and the command ``goldbench``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interrupt while it is being imported is quiet."""
    try:
        from goldbench.cli.process import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
