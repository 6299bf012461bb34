"""Write an export beside its place and put it there as a whole, or leave everything as it was."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from goldbench.errors import InputError, Message, OutputError, UsageError, explained
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.targets import TARGETS, Target
from goldbench.exports.tools import Tool
from goldbench.formats.interchange_names import EXPORT_ABOUT
from goldbench.text.display import amount, queries, shown

_MADE_BY_TOOLS = frozenset({"__pycache__", "corpus.jsonl.pklz4"})
"""What Python and ir_datasets make in an exported folder when they read it; a new export takes its place, too."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A written export: its place, what was written, and a line for each thing that a reader must know."""

    place: Path
    written: ExportedSet
    remarks: tuple[str, ...]


def export_set(exported: ExportedSet, to: str, out: Path, *, force: bool = False) -> ExportResult:
    """Write a set for another tool.

    Args:
        exported: The set.
        to: A name of `Tool`.
        out: The new file or folder.
        force: Whether a file, or an earlier export in a folder, may be replaced.

    Raises:
        UsageError: The tool is not known, or the file's name has an ending that the tool does not read.
        InputError: No query of the set can be exported.
        OutputError: The place is taken, or cannot be written.
    """
    if to not in TARGETS:
        raise UsageError(f"to: no such tool: {shown(to)!r}; give {', '.join(TARGETS)}")
    target = TARGETS[Tool(to)]
    _check_ending(target, to, out)
    _check_free(target, out, force=force)
    written = exported if target.contextless else exported.with_contexts()
    if not written.queries:
        problem = "no query has a relevant passage" if exported.queries else "holds 0 queries"
        raise InputError(exported.name, f"{problem}, so there is nothing to export to {to}")
    with explained(out):
        _put(target, _check_whole(written), out)
    return ExportResult(out, written, tuple(_remarks(exported, written)))


def _check_ending(target: Target, to: str, out: Path) -> None:
    if target.endings and out.suffix.lower() not in target.endings:
        raise UsageError(
            Message("{out} {}: {} takes a file that ends with {}", shown(out), to, " or ".join(target.endings))
        )


def _check_free(target: Target, out: Path, *, force: bool) -> None:
    """Refuse a place that is taken, or with ``force`` one that holds anything else than a file, or an export folder."""
    if out.is_symlink():
        raise OutputError(Message("{}: is a link; give another {out=}", shown(out)))
    if not out.exists():
        return
    if not force:
        raise OutputError(Message("{}: exists already; give another {out=}, or {force=True} to replace it", shown(out)))
    is_folder = not target.endings
    with explained(out):
        is_free = not is_folder or (out.is_dir() and ((out / EXPORT_ABOUT).is_file() or not any(out.iterdir())))
    if out.is_dir() != is_folder or not is_free:
        raise OutputError(Message("{}: is not an earlier export to this target; give another {out=}", shown(out)))


def _check_whole(written: ExportedSet) -> ExportedSet:
    """Refuse half characters (lone surrogates), which most tools cannot read; those of the corpus while it is read.

    Raises:
        InputError: A text or an id holds one.
    """

    def check(what: str, *texts: object) -> None:
        try:
            json.dumps(texts, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = f"{what} holds half a character (a lone surrogate), so it cannot be exported"
            raise InputError(shown(written.name), problem) from None

    def corpus() -> Iterator[tuple[str, str]]:
        for doc_id, text in written.corpus():
            check(f"passage {shown(doc_id)!r}", doc_id, text)
            yield doc_id, text

    for query in written.queries:
        texts = (query.text, query.alone, query.answer, [*query.contexts], query.described())
        check(f"query {shown(query.query_id)!r}", *texts)
    return replace(written, corpus=corpus)


def _put(target: Target, written: ExportedSet, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=out.parent))
    try:
        draft = room / f"draft{out.suffix.lower()}"
        if not target.endings:
            draft.mkdir()
        target.write(written, draft)
        if draft.is_dir() and out.is_dir():
            _check_only_its_files(draft, out)
            before = out.rename(room / "before")
            try:
                draft.rename(out)
            except OSError:
                before.rename(out)
                raise
        else:
            draft.replace(out)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _check_only_its_files(draft: Path, out: Path) -> None:
    """Refuse to replace a folder with a file that the export does not write."""
    own = {path.relative_to(draft) for path in draft.rglob("*")}
    found = (path for path in sorted(out.rglob("*")) if _MADE_BY_TOOLS.isdisjoint(path.relative_to(out).parts))
    other = next((path for path in found if path.relative_to(out) not in own), None)
    if other is not None:
        raise OutputError(
            Message("{}: holds {}, which is not part of the export; give another {out=}", shown(out), shown(other.name))
        )


def _remarks(exported: ExportedSet, written: ExportedSet) -> list[str]:
    left = [query for query in exported.queries if not query.contexts] if written is not exported else []
    unanswerable = sum(not query.answerable for query in left)
    told = {
        "Left out because nothing in the corpus answers them": unanswerable,
        "Left out because no passage judged for them is relevant": len(left) - unanswerable,
        "Left out because they wait for a label": exported.waiting,
    }
    lines = [f"{text}: {queries(count)}." for text, count in told.items() if count]
    without = len(written.queries) - written.references
    if without:
        lines.append(f"{without:,} of {queries(len(written.queries))} have no reference answer.")
    return lines


def counts(written: ExportedSet) -> str:
    """Return in words how many queries, contexts and references were written."""
    contexts, references = amount(written.contexts, "context"), amount(written.references, "reference answer")
    return f"{queries(len(written.queries))}, {contexts}, {references}"
