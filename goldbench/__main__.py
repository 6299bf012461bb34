"""``python -m goldbench``."""

from goldbench.pipeline.__main__ import main

if __name__ == "__main__":
    main()
