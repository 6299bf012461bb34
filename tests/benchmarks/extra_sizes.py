"""What the base and each extra take on the disk; ``python -m tests.benchmarks sizes`` prints it for docs/install.md.

Each is installed by uv into an environment of its own, in the locked versions, and removed again.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
LARGE = frozenset({"sentence-transformers"})
"""Extras that are not installed: torch alone takes gigabytes."""
_MILLION = 10**6


def main() -> None:
    """Print the size of the base, and what each extra adds to it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    base = installed("")
    print("| extra | MB | packages |\n| --- | --- | --- |", flush=True)
    print(f"| (base) | {base[0]} | {base[1]} |", flush=True)
    for extra in extras:
        if extra not in LARGE:
            megabytes, packages = installed(extra)
            print(f"| `{extra}` | +{megabytes - base[0]} | +{packages - base[1]} |", flush=True)


def installed(extra: str) -> tuple[int, int]:
    """Return the megabytes and the number of packages of an environment with the base and an extra.

    Args:
        extra: Its name; nothing for the base alone.
    """
    with tempfile.TemporaryDirectory() as place:
        folder, versions = Path(place, "environment"), Path(place, "versions.txt")
        versions.write_text("\n".join(locked_versions()), "utf-8")
        uv = [str(Path(sys.executable).with_name("uv")), "--system-certs", "--quiet"]
        wanted = f"goldbench[{extra}] @ {ROOT.as_uri()}" if extra else f"goldbench @ {ROOT.as_uri()}"
        python = str(folder / "bin" / "python")
        subprocess.run([*uv, "venv", "--python", sys.executable, str(folder)], check=True)
        subprocess.run(
            [*uv, "pip", "install", "--link-mode", "copy", "--python", python, "--constraint", str(versions), wanted],
            check=True,
        )
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        found = [path for path in folder.rglob("*.dist-info") if not path.name.startswith("goldbench-")]
        return round(sum(path.stat().st_size for path in files) / _MILLION), len(found)


def locked_versions() -> list[str]:
    """Return the locked version of every package, as ``name==version``, with its condition if it has one."""
    lines = [line for name in LOCKS for line in (ROOT / ".ci" / name).read_text("utf-8").splitlines()]
    return sorted({found[0].strip() for line in lines if (found := re.match(r"[\w.-]+==[^\\]+", line))})
