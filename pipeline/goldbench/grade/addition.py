"""Queries added to a set: those with a label join it, the others wait with a pool of passages to judge."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from goldbench.config import Config
from goldbench.errors import OutputError
from goldbench.formats.faults import Fault
from goldbench.formats.own_queries import OwnQuery
from goldbench.formats.query_logs import folded
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import ADD, OWN, POOL, QUERIES, UNLABELLED, answers_beside
from goldbench.goldset.folder import Draft, GoldFolder, is_graded, with_reports
from goldbench.goldset.publication import sha256_of
from goldbench.grade.pool import Pools, read_gradable, waiting_pool
from goldbench.grade.preparation import pools
from goldbench.ports import Progress
from goldbench.records.corpus import Document, Evidence
from goldbench.records.manifest import StageReport
from goldbench.records.query import Query, UnlabelledQuery
from goldbench.records.relevance import Relevance
from goldbench.stages.check.single_checks import query_id
from goldbench.stages.pool import language_of
from goldbench.text.display import shell_command, shown
from goldbench.text.evidence import find_quote

Relevant = dict[str, dict[str, Relevance]]


@dataclass(slots=True)
class Addition:
    """Queries to add: those with a label and their grades, those without; ``repeated`` are in the set already."""

    labelled: list[Query] = field(default_factory=list)
    relevance: Relevant = field(default_factory=dict)
    waiting: list[UnlabelledQuery] = field(default_factory=list)
    repeated: list[OwnQuery] = field(default_factory=list)


def add_queries(
    folder: Path, asked: Sequence[OwnQuery], name: str, config: Config, *, progress: Progress, dry_run: bool = False
) -> Addition:
    """Add queries to the set in a folder, at once or not at all.

    Args:
        folder: The folder of a gold set.
        asked: The queries.
        name: The file they come from, named in errors.
        config: The configuration; its depth and retrievers make the pool of the queries without a label.
        progress: Shows how far the pooling is.
        dry_run: Return what would be added and change nothing.

    Raises:
        InputError: The folder holds no finished set or a damaged one, or a query names a passage, a document or a
            quotation that is not in the set.
        OutputError: A file of the set was changed, or the folder cannot be written.
    """
    home = GoldFolder(folder)
    if dry_run:
        return _matched(home, asked, name)
    home.manifest()
    with home.rewriting() as place:
        problem = next(home.changed_files(), None)
        if problem is not None:
            raise OutputError(f"{folder}: {problem}; see {shell_command('validate', str(folder))}")
        found = _matched(home, asked, name)
        if found.labelled or found.waiting:
            with pools(config, answers_beside(folder), (), dry_run=True) as chosen:  # built-in retrievers alone
                _write(home, place, found, _Pooling(chosen, config, progress))
            _finish(home, place, found, len(asked), name)
    return found


@dataclass(frozen=True, slots=True)
class _Pooling:
    """What pools the queries without a label."""

    pools: Pools
    config: Config
    progress: Progress


def _matched(home: GoldFolder, asked: Sequence[OwnQuery], name: str) -> Addition:
    """Return the queries as records of the set; ids and quotations are looked up."""
    known = set(_known_texts(home))
    found, new = Addition(), list[OwnQuery]()
    for one in asked:
        form = folded(one.text)
        (found.repeated if form in known else new).append(one)
        known.add(form)
    evidence = _evidence_of(home, new, name)
    holders = _holders(home, new, evidence, name)
    language = language_of(home.chunks.read())
    for one in new:
        unlabelled = UnlabelledQuery(
            query_id=query_id(one.text), text=one.text, generator=OWN, language=language, answer=one.answer
        )
        if not one.is_labelled:
            found.waiting.append(unlabelled)
            continue
        chunk_ids = holders[one.line]
        query = unlabelled.asked(chunk_ids[0])
        if one.quote:
            query = query.model_copy(update={"evidence": (evidence[one.line],)})
        found.labelled.append(query)
        found.relevance[query.query_id] = dict.fromkeys(chunk_ids, Relevance.ANSWERS)
    return found


def _known_texts(home: GoldFolder) -> Iterator[str]:
    """Yield the folded texts of the queries that the set holds, or that a judge or a person left out of it."""
    home.manifest()
    yield from (folded(one.text) for one in home.queries.read_any())
    yield from (folded(one.text) for one in home.unlabelled.read_any())
    yield from (folded(one.text) for one in home.unanswerable.read_any())
    yield from (folded(one.query.text) for one in (*home.ungraded.read_any(), *home.rejected.read_any()))


def _evidence_of(home: GoldFolder, asked: Iterable[OwnQuery], name: str) -> dict[int, Evidence]:
    """Return where the quotation of each query stands, by the query's line; one document holds it."""
    wanted = [one for one in asked if one.quote]
    places: dict[int, list[Evidence]] = {one.line: [] for one in wanted}
    named = {one.line: False for one in wanted}
    alike: dict[int, str] = {}
    for document in home.documents.read() if wanted else ():
        for one in wanted:
            if one.document is None or _is_named(document, one.document):
                named[one.line] = True
                span = find_quote(one.quote or "", document.text)
                if span is not None:
                    quote = document.text[slice(*span)]
                    places[one.line].append(Evidence(doc_id=document.doc_id, start=span[0], end=span[1], quote=quote))
            elif PurePath(document.source).name == PurePath(one.document).name:
                alike[one.line] = document.source
    for one in wanted:
        if not named[one.line]:
            meant = alike.get(one.line)
            advice = f"did you mean {shown(meant)}?" if meant else "0-documents.jsonl holds the name of each (source)"
            problem = f"column document: {shown(one.document or '')} is not in the set; {advice}"
            raise Fault(problem, line=one.line).of(name)
        if not places[one.line]:
            where = "that document" if one.document else "any document of the set"
            raise Fault(f"its quotation does not stand in {where}", line=one.line).of(name)
        if len(places[one.line]) > 1:
            problem = f"its quotation stands in {len(places[one.line]):,} documents; name one in a column document"
            raise Fault(problem, line=one.line).of(name)
    return {line: found[0] for line, found in places.items()}


def _is_named(document: Document, path: str) -> bool:
    return path in {document.doc_id, document.source} or document.source.endswith(f"/{path}")


def _holders(
    home: GoldFolder, asked: Iterable[OwnQuery], evidence: Mapping[int, Evidence], name: str
) -> dict[int, list[str]]:
    """Return the passages that answer each query with a label, by the query's line."""
    quoted: dict[str, list[int]] = {}
    for line, found in evidence.items():
        quoted.setdefault(found.doc_id, []).append(line)
    ids = {chunk_id for one in asked for chunk_id in one.passages}
    holders: dict[int, list[str]] = {line: [] for line in evidence}
    known: set[str] = set()
    for chunk in home.chunks.read():
        for line in quoted.get(chunk.span.doc_id, ()):
            if chunk.span.contains(evidence[line]):
                holders[line].append(chunk.chunk_id)
        if chunk.chunk_id in ids:
            known.add(chunk.chunk_id)
    for one in asked:
        unknown = next((chunk_id for chunk_id in one.passages if chunk_id not in known), None)
        if unknown is not None:
            problem = f"column passages: {shown(unknown)} is not in the set; 1-chunks.jsonl holds the id of each"
            raise Fault(problem, line=one.line).of(name)
        if one.quote and not holders[one.line]:
            problem = "its quotation stands in no single passage; give fewer words of it"
            raise Fault(problem, line=one.line).of(name)
    return holders | {one.line: list(one.passages) for one in asked if one.passages}


def _write(home: GoldFolder, place: Draft, found: Addition, pooling: _Pooling) -> None:
    """Write the files that the new queries change."""
    if found.waiting:
        place.unlabelled.write((*home.unlabelled.read_any(), *found.waiting))
        gold = read_gradable(home, home.manifest())
        grading = gold.manifest.grading if is_graded(gold.manifest) else None
        rows = waiting_pool(
            gold,
            [one.asked() for one in found.waiting],
            pooling.pools,
            pooling.progress,
            depth=grading.depth if grading else pooling.config.grade.depth,
        )
        place.pool.write((*home.pool.read_any(), *rows))
        if home.has_reviews_applied():
            place.unreviewed.path.mkdir(parents=True, exist_ok=True)
            place.unreviewed.pool.write((*home.unreviewed.pool.read_any(), *rows))
    if found.labelled:
        _write_labelled(home, place, found)
    if found.labelled or home.is_reviewed():
        _write_gold(home, place, found)


def _write_labelled(home: GoldFolder, place: Draft, found: Addition) -> None:
    """Write the queries with a label, also to what is kept of the set before its grading or review."""
    place.queries.write((*home.queries.read(), *found.labelled))
    lines = "".join(
        f"{one} 0 {chunk_id} {grade:d}\n" for one, said in found.relevance.items() for chunk_id, grade in said.items()
    )
    kept = [(home.given_labels, place.given_labels)]
    if home.has_reviews_applied():
        place.unreviewed.path.mkdir(parents=True, exist_ok=True)
        place.unreviewed.queries.write((*home.unreviewed.queries.read_any(), *found.labelled))
        kept.append((home.unreviewed_labels, place.unreviewed_labels))
    for before, now in kept:
        if before.is_file():
            now.parent.mkdir(parents=True, exist_ok=True)
            now.write_bytes(before.read_bytes() + lines.encode())


def _write_gold(home: GoldFolder, place: Draft, found: Addition) -> None:
    gold = home.dataset()
    queries = [*home.queries.read(), *found.labelled]
    dropped = (item.query for item in home.ungraded.read_any())
    scores = gold.relevance_scores or {
        one: dict.fromkeys(ids, Relevance.ANSWERS) for one, ids in gold.relevant_docs.items()
    }
    place.write_gold(
        GoldContents(
            queries=queries,
            corpus=functools.partial(passages, home.chunks.read(), [*queries, *dropped], title_use(gold.metadata)),
            relevance={**scores, **found.relevance},
            metadata=_metadata(gold.metadata, place),
            unanswerable=list(home.unanswerable.read_any()),
            derived=gold.derived,
        )
    )


def _metadata(metadata: Mapping[str, Any], place: Draft) -> dict[str, Any]:
    """Return the metadata of the set; for an applied review, with the digests of its new files."""
    review = metadata.get("review")
    if not isinstance(review, Mapping):
        return dict(metadata)
    written = {name: sha256_of(place.file(name)) for name in (QUERIES, POOL) if place.file(name).is_file()}
    return {**metadata, "review": {**review, "files": {**review.get("files", {}), **written}}}


def _finish(home: GoldFolder, place: Draft, found: Addition, count: int, name: str) -> None:
    manifest = home.manifest()
    report = StageReport(
        stage=ADD,
        reads=Path(name).name,
        writes=QUERIES if found.labelled else UNLABELLED,
        read=count,
        written=len(found.labelled) + len(found.waiting),
        unused=len(found.repeated),
    )
    stages = with_reports(manifest.stages, [report])
    queries = manifest.queries + len(found.labelled)
    place.finish(manifest.model_copy(update={"queries": queries, "stages": stages}))
