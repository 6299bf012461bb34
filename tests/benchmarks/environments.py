"""Python environments of their own for the peers that goldbench is measured beside; none of them is a dependency."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parents[2] / ".venv-bench"


def python_with(name: str, *requirements: str) -> Path | str:
    """Return the Python of an environment that holds packages, made when it is first asked for.

    Args:
        name: The environment's name; its folder is ``.venv-bench/<name>``.
        requirements: What to install, with versions, as pip takes them.

    Returns:
        The path of its Python; or, in words, why there is none.
    """
    folder = PLACE / name
    python, stamp, wanted = folder / "bin" / "python", folder / "installed.txt", "\n".join(requirements)
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return python
    uv = [str(Path(sys.executable).with_name("uv")), "--system-certs", "--quiet"]
    for command in (
        [*uv, "venv", "--clear", "--python", sys.executable, str(folder)],
        [*uv, "pip", "install", "--compile-bytecode", "--python", str(python), *requirements],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"not installed ({type(error).__name__})"
        if done.returncode:
            return f"not installed ({(done.stderr.strip().splitlines() or ['no reason given'])[-1]})"
    stamp.write_text(wanted, "utf-8")
    return python
