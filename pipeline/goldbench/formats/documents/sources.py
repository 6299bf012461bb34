"""Files, folders and globs to a sorted list of the files to read, each file once.

Three kinds of entries are not read:

- *ignored*: types that goldbench does not read, counted by suffix; hidden files and folders, counted as ``hidden``;
  folders of earlier runs, counted as ``goldbench run``;
- *repeated*: a file that was found twice and is read once: by two arguments, by a link to a file that is read anyway,
  or as a copy, byte for byte, with the same ``source`` (the same file below two of the folders given);
- *failures*: links that lead out of the folder given or nowhere, pipes and devices, folders that may not be listed.

``source`` is the path below the folder given (of a glob: below its part without wildcards; of a file: its name), in NFC
and with ``/``. Ids are made from it, so moving the folder changes no id. Files that share a source and differ in
content (``index.md`` below ``en`` and below ``de``) are told apart by the folders above them.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from goldbench.errors import InputError, UnreadableDocument, UsageError
from goldbench.formats.documents.globs import Glob, is_glob
from goldbench.formats.faults import Fault, reason
from goldbench.formats.regular_files import open_regular
from goldbench.formats.tables import Table
from goldbench.text.display import shown

KINDS: Mapping[str, str] = {
    **dict.fromkeys((".txt", ".text", ".log", ".org", ".adoc", ".asciidoc"), "plain"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".rst", ".rest"), "rst"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"), "table"),
    **dict.fromkeys((".pdf", ".docx", ".pptx", ".xlsx", ".epub"), "office"),
}
"""The reader of each suffix (lower case)."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read. ``source`` is written into its documents as their origin.

    ``apart`` tells it from the other files of the same source: the end of its path, as far as they differ; empty if
    it is the only one. ``table`` holds the rows if they are in memory; then ``path`` only names them in messages.
    """

    path: Path
    source: str
    table: Table | None = None
    apart: tuple[str, ...] = ()
    kind: str = field(init=False)
    """The reader it belongs to: ``plain``, ``markdown``, ``rst``, ``html``, ``table`` or ``office``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _kind(self.path) if self.table is None else "table")


def _kind(path: Path) -> str:
    """Return the reader of a file.

    Sphinx keeps its sources as ``_sources/page.rst.txt`` and ``.md.txt``, and older ones as ``_sources/page.txt``.
    """
    suffix = path.suffix.lower()
    if suffix == ".txt" and "_sources" in path.parts:
        before = KINDS.get(Path(path.stem).suffix.lower())
        return before if before in {"rst", "markdown"} else "rst"
    return KINDS[suffix]


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files below the paths given, and what is not read; see the module. ``files`` are in order of ``source``."""

    files: tuple[SourceFile, ...]
    ignored: Mapping[str, int]
    repeated: tuple[str, ...]
    failures: tuple[UnreadableDocument, ...]


@dataclass(slots=True)
class _Walk:
    """One argument while it is walked."""

    top: Path
    is_run: Callable[[Path], bool]
    glob: Glob | None = None
    files: list[tuple[str, Path]] = field(default_factory=list)
    links: list[tuple[str, Path]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    repeated: list[str] = field(default_factory=list)
    failures: list[UnreadableDocument] = field(default_factory=list)
    folders: set[Path] = field(default_factory=set)
    """The real paths of the folders that were listed already."""


def find_files(paths: Sequence[str], *, is_run: Callable[[Path], bool] = lambda _: False) -> SourceFiles:
    """Return the files to read.

    Args:
        paths: files, folders (read recursively) and globs (``*``, ``?``, ``[…]``, ``**``), in any order. A path that
            exists is never taken for a glob. What a glob matches is read as if it had been given: a folder wholly.
        is_run: Whether a folder below a given one holds what a build wrote, so that its files are no documents.

    Raises:
        UsageError: a path does not exist, or a glob matches nothing.
        InputError: a file of a type that is not read, a folder without any file that is, or the folder of a run.
    """
    walks = [_walk_argument(argument, is_run) for argument in paths]
    files: dict[str, SourceFile] = {}
    repeated = [source for walk in walks for source in walk.repeated]
    for source, path in sorted(
        (pair for walk in walks for pair in walk.files), key=lambda pair: (pair[0], *_tie(pair))
    ):
        # A file given directly (source: its name) and through a folder (source: the path below it) is the same file.
        real_path = os.path.realpath(path) if len(walks) > 1 else str(path)
        if files.setdefault(real_path, SourceFile(path, source)).path is not path:
            repeated.append(source)
    distinct, copies = _without_copies(files.values())
    return SourceFiles(
        files=tuple(distinct),
        ignored=dict(sorted(sum((walk.ignored for walk in walks), Counter()).items())),
        repeated=tuple(sorted(repeated + copies)),
        failures=tuple(sorted((failure for walk in walks for failure in walk.failures), key=str)),
    )


def _tie(pair: tuple[str, Path]) -> tuple[int, str]:
    return (len(pair[1].parts), str(pair[1]))


def _walk_argument(argument: str, is_run: Callable[[Path], bool]) -> _Walk:
    path = Path(argument)
    if not os.path.lexists(argument):
        if not is_glob(argument):
            raise UsageError(f"{shown(argument)}: no such file or folder; give documents or a folder of them")
        glob = Glob(argument)
        walk = _Walk(glob.top, is_run, glob)
        if glob.top.is_dir():
            _walk_folder(walk)
        if not walk.files and not walk.failures:
            raise UsageError(f"{shown(argument)}: matches no file that can be read{_passed_over(walk)}")
        return walk
    if path.is_dir():
        if is_run(path):
            raise InputError(shown(argument), "is the folder of a goldbench run; give the documents it was built from")
        walk = _Walk(path, is_run)
        _walk_folder(walk)
        if not walk.files:
            kinds = " ".join(sorted(KINDS))
            raise InputError(shown(argument), f"holds no document that can be read{_passed_over(walk)}; give {kinds}")
        return walk
    if not path.is_file():
        raise InputError(shown(argument), "is neither a file nor a folder (a broken link, a pipe or a device)")
    if path.suffix.lower() not in KINDS:
        raise InputError(shown(argument), f"not a type of document; give one of {' '.join(sorted(KINDS))}")
    return _Walk(path.parent, is_run, files=[(_source(path.name), path)])


def _passed_over(walk: _Walk) -> str:
    reasons = [f"{count} {suffix}" for suffix, count in sorted(walk.ignored.items())]
    reasons += [f"{shown(failure.path)} {failure.problem}" for failure in walk.failures[:3]]
    return f" (found: {', '.join(reasons[:8])})" if reasons else ""


def _walk_folder(walk: _Walk) -> None:
    """Walk real files first, then links in order of name: a file's own path is its source, not a link's."""
    _list_tree(walk, walk.top, "")
    inside = Path(os.path.realpath(walk.top))
    known = {Path(os.path.realpath(path)) for _, path in walk.files} if walk.links else set()
    while walk.links:
        links = sorted(walk.links)
        walk.links = []
        for relative, path in links:
            _follow(walk, relative, path, inside=inside, known=known)


def _follow(walk: _Walk, relative: str, path: Path, *, inside: Path, known: set[Path]) -> None:
    target = Path(os.path.realpath(path))
    if not target.exists():
        walk.failures.append(UnreadableDocument(shown(path), "is a link that leads nowhere or to itself"))
    elif not target.is_relative_to(inside):
        walk.failures.append(UnreadableDocument(shown(path), "is a link out of the folder given: not followed"))
    elif not target.is_dir():
        _add_new(walk, lambda: _take(walk, relative, path, is_file=path.is_file()), known)
    elif target in walk.folders:
        walk.repeated.append(_source(relative) + "/")
    else:
        _add_new(walk, lambda: _list_tree(walk, path, relative + "/"), known)


def _add_new(walk: _Walk, list_more: Callable[[], None], known: set[Path]) -> None:
    """Of the files that ``list_more`` adds, keep those that are not read under another name."""
    before = walk.files
    walk.files = []
    list_more()
    more = walk.files
    walk.files = before
    for source, path in more:
        real = Path(os.path.realpath(path))
        if real in known:
            walk.repeated.append(source)
        else:
            known.add(real)
            walk.files.append((source, path))


def _list_tree(walk: _Walk, top: Path, prefix: str) -> None:
    stack = [(top, prefix)]
    while stack:
        folder, prefix = stack.pop()
        walk.folders.add(Path(os.path.realpath(folder)))
        for entry in _entries(walk, folder):
            relative = prefix + entry.name
            if entry.name.startswith("."):
                walk.ignored["hidden"] += 1
            elif entry.is_symlink():
                if walk.glob is None or walk.glob.matches(relative) or walk.glob.may_hold_matches(relative):
                    walk.links.append((relative, Path(entry.path)))
            elif entry.is_dir(follow_symlinks=False):
                if walk.is_run(Path(entry.path)):
                    walk.ignored["goldbench run"] += 1
                elif walk.glob is None or walk.glob.may_hold_matches(relative):
                    stack.append((Path(entry.path), relative + "/"))
            else:
                _take(walk, relative, Path(entry.path), is_file=entry.is_file(follow_symlinks=False))


def _entries(walk: _Walk, folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        walk.failures.append(UnreadableDocument(shown(folder), f"cannot be listed: {reason(error)}"))
        return []


def _take(walk: _Walk, relative: str, path: Path, *, is_file: bool) -> None:
    if walk.glob is not None and not walk.glob.matches(relative):
        return
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        walk.ignored[shown(suffix) or "without suffix"] += 1
    elif not is_file:
        walk.failures.append(UnreadableDocument(shown(path), "is not a regular file (a pipe, a socket or a device)"))
    else:
        walk.files.append((_source(relative), path))


def _source(relative: str) -> str:
    """Return a path as text that any file can hold: in NFC, with bytes that are not UTF-8 as escapes."""
    text = os.fsencode(relative.replace(os.sep, "/")).decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", text)


def _without_copies(files: Iterable[SourceFile]) -> tuple[list[SourceFile], list[str]]:
    """Return the files in order of source and content without copies of the same source, and the sources of the copies.

    Two files with one source and different content are both kept, told apart by the folders above them.
    """
    by_source: dict[str, list[SourceFile]] = {}
    for file in files:
        by_source.setdefault(file.source, []).append(file)
    source_files: list[SourceFile] = []
    copies: list[str] = []
    for source in sorted(by_source):
        same = by_source[source]
        distinct = {_fingerprint(file): file for file in reversed(same)} if len(same) > 1 else {"": same[0]}
        source_files += _told_apart([file for _, file in sorted(distinct.items(), key=lambda item: item[0])])
        copies += [source] * (len(same) - len(distinct))
    return source_files, copies


def _told_apart(files: list[SourceFile]) -> list[SourceFile]:
    """Return files of one source with the shortest end of their paths in which all of them differ."""
    if len(files) == 1:
        return files
    places = [_source(str(file.path.absolute())).split("/") for file in files]
    longest = max(map(len, places))
    ends = ([tuple(parts[-count:]) for parts in places] for count in range(1, longest + 1))
    differing = next((names for names in ends if len(set(names)) == len(files)), map(tuple, places))
    return [replace(file, apart=end) for file, end in zip(files, differing, strict=True)]


def _fingerprint(file: SourceFile) -> str:
    digest = hashlib.sha256()
    try:
        with open_regular(file.path) as stream:
            while piece := stream.read(2**20):
                digest.update(piece)
    except (Fault, OSError):
        # Reading the file will fail again and name it; until then it is not a copy of another.
        return f"unreadable {file.path}"
    return digest.hexdigest()
