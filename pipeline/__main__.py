"""``python -m pipeline`` is ``goldset``."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
