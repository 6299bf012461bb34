"""The version of a gold set: what it is by what changed since the set before, and the changelog that tells it.

A first set is 1.0.0. Of a later set in the same folder the major number rises if its passages changed, the minor number
if its queries did (with the words held out for them), and the patch number if only labels or answers did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from goldbench.pipeline.errors import InputError, UsageError
from goldbench.pipeline.formats.jsonl import RecordFile, as_line
from goldbench.pipeline.goldset import file_names as names
from goldbench.pipeline.goldset.content_digest import Content, read_content
from goldbench.pipeline.goldset.gold_path import METADATA, read_metadata
from goldbench.pipeline.text.display import queries, shell_command, shown
from goldbench.schemas.manifest import ItemChanges, Manifest, Origin, QueryVersion, SetVersion

FIRST = "1.0.0"
_SHORT = 12
"""Digits of a content digest that are shown to people."""
_END = b"\n}\n"
_KEYS = {
    "documents": (names.DOCUMENTS, "doc_id", ("text", "title")),
    "passages": (names.CHUNKS, "chunk_id", ("text", "title", "headings")),
}
"""The file of each kind of record that is compared, its id, and the fields that count."""


@dataclass(frozen=True, slots=True)
class Making:
    """How a set was made: the command, the sets it was made from, and the version that a person set."""

    by: str = ""
    origins: tuple[Origin, ...] = ()
    version: str | None = None


def versioned(place: Path, folder: Path, manifest: Manifest, earlier: Manifest | None, making: Making) -> Manifest:
    """Return the manifest of a new set with its versions, and write them to its files.

    Args:
        place: The draft with the new set.
        folder: The folder that it is put into, with the set before if there is one.
        manifest: The manifest of the new set.
        earlier: The manifest of the set before, or None.
        making: How the new set was made.
    """
    dataset, known = place / names.DATASET, earlier.versions if earlier else []
    content = read_content(dataset, by_id=earlier is not None)
    stand = _since(folder) if known else {}
    if known and making.version is None and known[0].content_sha256 == content.sha256:
        versions = known
    else:
        files = _file_changes(place, folder) if earlier else {}
        is_major = files is not None and "passages" in files
        before = _content_before(folder, earlier, passages=not (known and is_major))
        new = _next(known, _changes(files, before, content), content, making)
        same = sum(one in stand for one in content.queries.values()) if known else _same(before, content)
        told = {"at": manifest.created, "queries": len(content.queries), "same_queries": same}
        versions = [new.model_copy(update=told), *known]
    now = versions[0]
    _stamp(dataset, now)
    rows = content.queries.items()
    RecordFile.write(
        place / names.QUERY_VERSIONS,
        QueryVersion,
        (QueryVersion(query_id=one, sha256=digest, since=stand.get(digest, now.version)) for one, digest in rows),
    )
    (place / names.CHANGELOG).write_text("\n".join(changelog(versions)) + "\n", encoding="utf-8", newline="\n")
    return manifest.model_copy(update={"versions": versions})


def origin_of(path: Path, metadata: Mapping[str, object]) -> Origin:
    """Return what a set made from another says about it.

    Args:
        path: The other set.
        metadata: Its metadata.
    """
    version, digest = metadata.get("version"), metadata.get("content_sha256")
    return Origin(
        name=shown(path.resolve().name),
        version=version if isinstance(version, str) else None,
        content_sha256=digest if isinstance(digest, str) else None,
    )


def parsed(version: str) -> tuple[int, ...]:
    """Return the three numbers of a version.

    Raises:
        UsageError: It does not have the form 1.2.3.
    """
    if not re.fullmatch(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}", version, re.ASCII):
        raise UsageError(f"not a valid version: {version!r}; give three numbers, as 2.0.0")
    return tuple(map(int, version.split(".")))


def changelog(versions: Iterable[SetVersion]) -> Iterator[str]:
    """Yield the lines of the changelog, in Markdown.

    Args:
        versions: The newest first.
    """
    yield "# Versions of this gold set"
    every = list(versions)
    for one, before in zip(every, [*every[1:], None], strict=True):
        yield from ("", f"## {one.version}", "")
        command = f" by `goldbench {one.made_by}`" if one.made_by else ""
        digest = f"Content `{one.content_sha256[:_SHORT]}`"
        yield f"Made{command}. {digest}. {queries(one.queries)}{_as_before(one, before)}."
        yield from _facts(one)


def _as_before(one: SetVersion, before: SetVersion | None) -> str:
    if one.same_queries is None:
        return ""
    return f", {one.same_queries:,} as in {before.version if before else 'the set before'}"


def _facts(one: SetVersion) -> Iterator[str]:
    lines = [f"- {one.note}"] if one.note else []
    for part in one.origins:
        known = f", version {part.version}" if part.version else ", which has no version"
        digest = f" (`{part.content_sha256[:_SHORT]}`)" if part.content_sha256 else ""
        lines.append(f"- Made from `{part.name.replace('`', '')}`{known}{digest}.")
    for kind, change in one.changes.items():
        counts = {"added": change.added, "removed": change.removed, "changed": change.changed}
        lines.append(f"- {kind}: {', '.join(f'{count:,} {what}' for what, count in counts.items() if count)}")
    if lines:
        yield ""
        yield from lines


@dataclass(frozen=True, slots=True)
class _Changes:
    """What is different from the set before; None as ``counts`` if the set before cannot be read."""

    counts: Mapping[str, ItemChanges] | None
    asked: bool = False

    @property
    def passages(self) -> bool:
        return self.counts is None or "passages" in self.counts


def _next(known: list[SetVersion], found: _Changes | None, content: Content, making: Making) -> SetVersion:
    note = None
    if not known:
        version = FIRST
        note = "The set before had no version." if found is not None else None
    else:
        major, minor, patch = parsed(known[0].version)
        version = f"{major}.{minor}.{patch + 1}"
        if found is None or found.passages:
            version = f"{major + 1}.0.0"
        elif found.asked:
            version = f"{major}.{minor + 1}.0"
    if making.version is not None:
        version = _chosen(making.version, known)
    if found is not None and found.counts is None:
        note = f"{note or ''} The set before could not be read; what changed is not known.".strip()
    return SetVersion(
        version=version,
        content_sha256=content.sha256,
        made_by=making.by,
        at="",
        queries=0,
        changes=dict(found.counts or {}) if found else {},
        origins=list(making.origins),
        note=note,
    )


def _chosen(version: str, known: list[SetVersion]) -> str:
    if known and parsed(version) <= parsed(known[0].version):
        raise UsageError(f"{version}: is not later than {known[0].version}, the version of the set; give a later one")
    return ".".join(map(str, parsed(version)))


def _content_before(folder: Path, earlier: Manifest | None, *, passages: bool) -> Content | InputError | None:
    """Return the set before as digests, None if there was none; the error if it cannot be read: it may be replaced."""
    if earlier is None or not (folder / names.DATASET).is_file():
        return None
    try:
        return read_content(folder / names.DATASET, passages=passages, by_id=passages)
    except InputError as error:
        return error


def _same(before: Content | InputError | None, content: Content) -> int | None:
    if not isinstance(before, Content):
        return None
    known = set(before.queries.values())
    return sum(one in known for one in content.queries.values())


def _file_changes(place: Path, folder: Path) -> dict[str, ItemChanges] | None:
    """Return how many documents and passages are others than before; None if their files cannot be read."""
    found: dict[str, ItemChanges] = {}
    try:
        for kind, (name, key, fields) in _KEYS.items():
            old, new = _lines(folder / name), _lines(place / name)
            if old != new and (place / name).is_file():
                earlier = _records(folder / name, key, fields, lines=old, besides=set(new))
                found[kind] = _compared(earlier, _records(place / name, key, fields, lines=new, besides=set(old)))
    except ValueError:
        return None
    return _real(found)


def _changes(
    files: Mapping[str, ItemChanges] | None, before: Content | InputError | None, now: Content
) -> _Changes | None:
    """Return what changed since the set before; None if there was none."""
    if before is None:
        return None
    if not isinstance(before, Content) or files is None:
        return _Changes(None)
    counts = dict(files)
    if "passages" not in counts:
        words = _compared(before.passages, now.passages)
        counts["passages with other words held out"] = ItemChanges(changed=words.changed)
    counts["queries"] = _compared(before.asked, now.asked)
    counts["labels"] = _compared(_pairs(before), _pairs(now))
    counts["answers and other notes"] = _compared(before.other, now.other)
    return _Changes(_real(counts), asked=before.asked != now.asked or before.passages != now.passages)


def _real(counts: Mapping[str, ItemChanges]) -> dict[str, ItemChanges]:
    """Return the counts of the kinds of which any record changed."""
    return {kind: one for kind, one in counts.items() if one.added or one.removed or one.changed}


def _pairs(content: Content) -> dict[tuple[str, str], int]:
    return {(query, one): grade for query, found in content.labels.items() for one, grade in found.items()}


def _compared(before: Mapping[Any, object], now: Mapping[Any, object]) -> ItemChanges:
    common = before.keys() & now.keys()
    return ItemChanges(
        added=len(now) - len(common),
        removed=len(before) - len(common),
        changed=sum(before[one] != now[one] for one in common),
    )


def _lines(path: Path) -> list[bytes]:
    """Return a digest of each line of a file; empty if the file is missing."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        return [sha256(line).digest() for line in file]


def _records(
    path: Path, key: str, fields: tuple[str, ...], *, lines: Sequence[bytes], besides: Container[bytes]
) -> dict[Any, object]:
    """Return a digest of some fields of each record, by its id; without the lines that the other file has as well."""
    if not lines:
        return {}
    found: dict[Any, object] = {}
    with path.open("rb") as file:
        for line, digest in zip(file, lines, strict=True):
            if digest in besides:
                continue
            row = json.loads(line)
            text = json.dumps([row.get(name) for name in fields], ensure_ascii=False)
            found[row.get(key)] = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return found


def _since(folder: Path) -> dict[str, str]:
    """Return since which version a query stands, by its digest; empty if the set before does not tell."""
    path = folder / names.QUERY_VERSIONS
    if not path.is_file():
        return {}
    try:
        return {one.sha256: one.since for one in RecordFile.open(path, QueryVersion)}
    except InputError:  # the set before is damaged and is about to be replaced: no query stands since before
        return {}


def _stamp(dataset: Path, version: SetVersion) -> None:
    """Write the version and the digest into the metadata, which are the last line but one of the file."""
    told = {"version": version.version, "content_sha256": version.content_sha256}
    metadata = {**read_metadata(dataset), **told}
    line = METADATA + as_line(json.dumps(metadata, ensure_ascii=False, sort_keys=True)) + "}\n"
    at = _metadata_at(dataset)
    with dataset.open("r+b") as file:
        file.truncate(at)
        file.seek(at)
        file.write(line.encode())


def _metadata_at(dataset: Path) -> int:
    """Return at which byte the line of the metadata begins.

    Raises:
        InputError: The file was not written by goldbench.
    """
    size, tail = dataset.stat().st_size, 1 << 16
    with dataset.open("rb") as file:
        while True:
            start = max(0, size - tail)
            file.seek(start)
            found = file.read()
            at = found[: -len(_END)].rfind(b"\n") + 1
            if at or not start:
                break
            tail *= 4
    if not found.endswith(_END) or not found[at:].startswith(METADATA.encode()):
        raise InputError(dataset, f"was not written by goldbench; import it with {shell_command('import')}")
    return start + at
