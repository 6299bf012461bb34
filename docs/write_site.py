"""Build the documentation site: ``python -m docs.write_site FOLDER``.

The pages of docs/ link to pictures, examples and texts elsewhere in the project, as they stand on a code host. Here
these files are copied beside the pages and the links follow them, so that the site is whole on its own. zensical then
builds it and refuses a link to a page or an anchor that does not exist.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PROJECT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Texts at the top of the project that are pages of the site."""

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|//)([^)#\s]+)(#[^)\s]*)?(?=\))")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NODE = re.compile(r'(\w+)\["([^"]+)"\]')
_GROUP = re.compile(r'^ *subgraph "([^"]+)"\n(.*?)^ *end$', re.MULTILINE | re.DOTALL)


class BrokenLink(Exception):
    """A link that leads to no file of the project."""


def place_of(path: str) -> str:
    """Return where a file of the project stands in the site.

    Args:
        path: The path from the top of the project.
    """
    if path == "README.md":
        return "index.md"  # what it says to people who have the project, the site says to its readers
    if path in PROJECT_PAGES:
        return f"project/{path}"
    if path.startswith("docs/") and path.endswith(".md"):
        return path.removeprefix("docs/")
    return f"files/{path}{'.txt' if path.endswith('.md') else ''}"


def sources() -> list[str]:
    """Return the pages of the site, as paths from the top of the project."""
    return [*(path.relative_to(ROOT).as_posix() for path in sorted(DOCS.rglob("*.md"))), *PROJECT_PAGES]


def linked(page: str, text: str) -> tuple[str, set[str]]:
    """Return the text of a page with its links as the site needs them, and the files that it links to.

    Args:
        page: The path of the page from the top of the project.
        text: Its Markdown.

    Raises:
        BrokenLink: A link leads to no file of the project.
    """
    found: set[str] = set()
    here = PurePosixPath(place_of(page)).parent.as_posix()

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(PurePosixPath(page).parent.as_posix(), link[1]))
        if target.startswith("..") or not (ROOT / target).is_file():
            raise BrokenLink(f"{page}: {link[1]}: no such file")
        found.add(target)
        return posixpath.relpath(place_of(target), here) + (link[2] or "")

    parts = _CODE.split(text)
    return "".join(part if part.startswith("`") else _LINK.sub(moved, part) for part in parts), found


def with_lists(text: str) -> str:
    """Return a page with each diagram as a list, for the library that draws diagrams has some megabytes.

    A diagram with groups becomes a numbered list of the groups, any other a list of its arrows.

    Args:
        text: The page, with diagrams as Mermaid reads them.
    """
    return _DIAGRAM.sub(lambda found: "\n".join(_items(found[1])), text)


def _items(diagram: str) -> list[str]:
    groups = _GROUP.findall(diagram)
    if groups:
        return [
            f"1. {title}: {'; '.join(_bold(label) for _, label in _NODE.findall(inner))}" for title, inner in groups
        ]
    labels = {name: _bold(label) for name, label in _NODE.findall(diagram)}
    arrows = (line.split(" --> ") for line in _NODE.sub(r"\1", diagram).splitlines() if " --> " in line)
    return [f"- {' → '.join(labels[name.strip()] for name in arrow)}" for arrow in arrows]


def _bold(label: str) -> str:
    """Return what stands in a box, the name before its colon in bold."""
    name, colon, rest = label.partition(":")
    return f"**{name.replace('_', chr(92) + '_')}**{colon}{rest}"


def stage(folder: Path) -> None:
    """Write the pages, and the files that they link to, into a folder.

    Args:
        folder: A new folder.

    Raises:
        BrokenLink: A link leads to no file of the project.
    """
    shutil.copytree(DOCS / "site_files", folder)
    files: set[str] = set()
    for page in sources():
        text, found = linked(page, (ROOT / page).read_text(encoding="utf-8"))
        files |= found
        _put(folder / place_of(page), with_lists(text).encode())
    for name in files - set(sources()) - {"README.md"}:
        _put(folder / place_of(name), (ROOT / name).read_bytes())


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def build(out: Path) -> None:
    """Build the site, and put it in place of what is in the folder.

    Args:
        out: Folder of the site.

    Raises:
        BrokenLink: A link leads to no file of the project.
        CalledProcessError: zensical failed, or found a link that leads nowhere.
    """
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        stage(place / "pages")
        shutil.copyfile(DOCS / "site.toml", place / "zensical.toml")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(place / "zensical.toml")]
        subprocess.run(command, check=True)  # noqa: S603  zensical, with paths of this module
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(place / "site", out)


def main() -> None:
    """Build the site into the folder that is named."""
    try:
        build(Path(sys.argv[1]))
    except BrokenLink as error:
        sys.exit(str(error))
    except subprocess.CalledProcessError:
        sys.exit(2)  # zensical has said why


if __name__ == "__main__":
    main()
