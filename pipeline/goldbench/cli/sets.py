"""``goldbench add``, ``import``, ``validate``, ``diff``, ``split``, ``rechunk`` and ``export``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.cli import options
from goldbench.cli.decisions import ask_before_replacing
from goldbench.cli.output import screen
from goldbench.errors import DONE_IN_PART, NEGATIVE, InputError, UsageError
from goldbench.exports.tools import Tool
from goldbench.goldset.file_names import DATASET, MANIFEST, REJECTIONS
from goldbench.goldset.gold_path import check_apart, holds_no_query
from goldbench.text.display import amount, printable, queries
from goldbench.text.display import queries as count_of

if TYPE_CHECKING:
    from goldbench.config import Config

Kind = Literal[
    "beir", "trec", "msmarco", "squad", "hotpotqa", "musique", "llamaindex", "ragas", "deepeval", "langsmith",
    "autorag", "ir_datasets", "hf", "mteb",
]  # fmt: skip
"""The formats of benchmarks that are imported."""

SHOWN = 20
"""Most items left out that are named on the screen."""


@options.takes("grade.depth")
def add(
    folder: options.Folder,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Queries: CSV, TSV, JSON Lines or text.")],
    settings: Config,
    dry_run: Annotated[bool, options.Limits("--dry-run", help="Show what would be added; write nothing.")] = False,
) -> None:
    """Add your own queries to a gold set.

    FILE has a column query, or as .txt a query in each line. A query joins the set if its row says what answers it:
    ids of passages (column passages, separated by blanks), or words quoted from a document (column quote; column
    document names the file if several hold the words). The others wait: they get a pool of passages for goldbench
    grade or goldbench review, and join the set when a passage is found that answers them. A column answer is kept as
    the reference answer. No model is asked.

    Example: goldbench add runs/mine queries.csv
    """
    from goldbench.formats.own_queries import read_own_queries
    from goldbench.grade.addition import add_queries

    rows = read_own_queries(file)
    added = add_queries(folder, rows, file, settings, progress=screen.progress(), dry_run=dry_run)
    if added.repeated:
        screen.note(f"{queries(len(added.repeated))} left out: in the set or in {file} already:")
    lines = (f"  line {row.line}: {printable(row.text)[:200]}" for row in added.repeated)
    screen.note_first(lines, most=SHOWN, rest="more")
    would = "would be " if dry_run else ""
    labelled = len(added.labelled)
    waiting = len(added.waiting)
    screen.add(dry_run=dry_run, labelled=labelled, waiting=waiting, left_out=[row.line for row in added.repeated])
    screen.show(f"{queries(labelled)} {would}added with labels, {queries(waiting)} {would}waiting for judgments")
    name = shlex.quote(str(folder))
    if waiting and not dry_run:
        screen.explain(f"Next: goldbench grade {name} (a model judges), or goldbench review {name} (people judge)")
    elif labelled and not dry_run:
        screen.explain(f"Next: goldbench validate {name}")


def import_(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="Format of the benchmark.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Folder or file; an id for ir_datasets, hf, mteb.")],
    out: Annotated[Path, options.Output(metavar="DIR", help="Folder of the gold set.")],
    split: Annotated[str | None, options.Input(metavar="NAME", help="Judgments to use (default: test).")] = None,
    corpus: Annotated[Path | None, options.Input(help="Passages (default: found by name).")] = None,
    queries: Annotated[Path | None, options.Input(help="Queries (default: found by name).")] = None,
    qrels: Annotated[Path | None, options.Input(help="Judgments (default: found by name).")] = None,
    grades: Annotated[
        str | None, options.Judging(metavar="MAP", help="New grades, 0 to 3 or none: 0=0,1..2=1,3=2,-1=none.")
    ] = None,
    relevant_from: Annotated[
        int | None, options.Judging(help="Lowest relevant grade (default: 1 of 0/1, else 2).")
    ] = None,
    drop_broken: Annotated[bool, options.Input("--drop-broken", help="Leave out broken items and list them.")] = False,
    evidence_level: Annotated[
        Literal["human", "model", "smoke"] | None, options.Judging(help="Who judged (default: human).")
    ] = None,
    replace: Annotated[bool, options.Output("--replace", help="Replace another set in DIR.")] = False,
    yes: options.Yes = False,
) -> None:
    """Turn a public benchmark into a gold set.

    The output folder has the files of a build. --evidence-level is model by default for llamaindex, ragas, deepeval,
    langsmith and autorag. A set that goldbench export wrote keeps its level.

    Example: goldbench import beir scifact --out runs/scifact
    """
    from goldbench.formats.benchmarks.collection import Chosen
    from goldbench.goldset.importer import Options, import_benchmark
    from goldbench.report.build_text import import_remarks

    chosen = Chosen(split=split, corpus=corpus, queries=queries, qrels=qrels)
    ask_before_replacing(out, replace=replace, yes=yes)
    how = Options(chosen, grades, relevant_from, drop_broken, evidence_level, replace)
    imported = import_benchmark(kind, path, out, how)
    screen.note(*import_remarks(imported))
    manifest = imported.manifest
    failures = (f"left out {printable(failure.message)}" for failure in manifest.failures)
    screen.note_first(failures, most=SHOWN, rest=f"more, listed in {MANIFEST}")
    passages = amount(manifest.documents, "passage")
    judgments = amount(manifest.stages[-1].written, "judgment")
    screen.add(folder=str(out), manifest=manifest.model_dump(mode="json"))
    screen.show(f"{passages}, {count_of(manifest.queries)}, {judgments} in {out}")
    screen.explain(f"Next: goldbench validate {shlex.quote(str(out))}")


def validate(folder: options.Folder) -> None:
    """Check every reference of a gold set.

    Reads the set again and also checks its spans, and that no file was changed.

    Example: goldbench validate runs/mine
    """
    from goldbench.goldset.integrity import validate as check

    report = check(folder)
    screen.add(
        valid=not report.problems,
        problems=list(map(str, report.problems)),
        documents=report.documents,
        chunks=report.chunks,
        queries=report.queries,
        labels=report.labels,
    )
    screen.show(*(f"{folder}: {problem}" for problem in report.problems), style="red")
    screen.show(
        f"{amount(report.documents, 'document')}, {amount(report.chunks, 'chunk')}, {queries(report.queries)}, "
        f"{amount(report.labels, 'label')}: "
        + (amount(len(report.problems), "problem") if report.problems else "every reference and span holds")
        + (f"; content {report.content_sha256[:12]}" if report.content_sha256 else "")
        + ("" if report.queries else f"; {holds_no_query(folder)}, so it measures nothing")
    )
    if report.problems:
        raise typer.Exit(NEGATIVE)
    if report.queries:
        screen.explain(f"Next: goldbench bench {shlex.quote(str(folder))} --system bm25")


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="Gold set before: folder or dataset.json.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Gold set after: folder or dataset.json.")],
    markdown: Annotated[bool, options.Output("--markdown", help="Print Markdown for a pull request.")] = False,
    examples: Annotated[int, options.Output(min=0, help="Differences shown of each kind.")] = 5,
    exit_code: Annotated[bool, options.Output("--exit-code", help="Exit with 1 if the sets differ.")] = False,
) -> None:
    """Show what changed between two gold sets.

    Compares documents, passages, queries and labels. The same text under another id is the same. A BEIR folder has no
    documents. Exits with 2 if a set cannot be read.

    Example: goldbench diff runs/old runs/new
    """
    from goldbench.goldset.difference import compare_sets, read_contents
    from goldbench.report import difference_text as report

    if screen.json and markdown:
        raise UsageError("diff: --json and --markdown exclude one another; give one of them")
    try:
        difference = compare_sets(read_contents(first), read_contents(second))
    except InputError as error:
        raise UsageError(str(error)) from None
    names = first.as_posix(), second.as_posix()
    screen.add(**report.as_record(difference, names))
    if markdown:
        typer.echo(report.markdown(difference, names, examples=examples), nl=False)
    else:
        screen.show(*report.heading(names), *report.terminal_lines(difference, examples=examples))
    if exit_code and difference.differs:
        raise typer.Exit(NEGATIVE)


def split(
    folder: options.Folder,
    shares: Annotated[str, options.Input(metavar="LIST", help="Parts and their shares, as dev=0.3,test=0.7.")],
    by: Annotated[
        Literal["query", "source"], options.Input(help="Keep linked queries or documents together.")
    ] = "query",
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, options.Output(metavar="DIR2", help="New folder of the parts (default: DIR-parts).")
    ] = None,
) -> None:
    """Divide a gold set into dev and test.

    Each part is a set of its own below the new folder, with the whole corpus. Queries stay on one side that share a
    passage or a near-duplicate of it, have almost the same words, belong to one conversation, or are a noisy form of
    one another. Labels, judgments and applied reviews go with their query; the ledger of a review stays in DIR.
    Exits with 3 if linked queries do not add up to the numbers asked for.

    Example: goldbench split runs/mine --shares dev=0.3,test=0.7
    """
    from goldbench.goldset.division import parse_shares, split_set
    from goldbench.goldset.folder import GoldFolder

    division = split_set(folder, out or options.beside(folder, "-parts"), shares=parse_shares(shares), by=by, seed=seed)
    for part in division.parts:
        screen.show(f"{part.name}: {queries(part.queries)} in {part.folder}")
    screen.add(
        parts=[
            {"name": part.name, "queries": part.queries, "wanted": part.wanted, "folder": str(part.folder)}
            for part in division.parts
        ],
        groups=division.groups,
    )
    screen.note(f"{amount(division.groups, 'group')} of queries that stay together.")
    ledger = GoldFolder(folder).ledger
    if ledger.is_file():
        screen.note(f"Not copied: {ledger}; decisions that were not applied are in no part.")
    missed = [part for part in division.parts if part.queries != part.wanted]
    for part in missed:
        screen.note(f"{part.name}: {queries(part.queries)}, not {part.wanted}: linked queries stay together.")
    if missed:
        raise typer.Exit(DONE_IN_PART)


def rechunk(
    folder: options.Folder,
    chunk_size: Annotated[int, options.Chunks(min=1, help="Characters per chunk.")],
    chunk_overlap: Annotated[
        int | None, options.Chunks(help="Characters shared by neighbours (default: size / 10).")
    ] = None,
    out: Annotated[
        Path | None, options.Output(metavar="DIR2", help="Output folder (default: DIR-SIZE-OVERLAP).")
    ] = None,
    replace: Annotated[bool, options.Output("--replace", help="Replace a set with other settings in DIR2.")] = False,
    yes: options.Yes = False,
) -> None:
    """Move a gold set to another chunking.

    The queries and the documents stay the same, and no model is called. Retrievers on both chunkings can be compared.

    Example: goldbench rechunk runs/mine --chunk-size 500
    """
    from goldbench.goldset.projection import write_rechunked

    overlap = chunk_size // 10 if chunk_overlap is None else chunk_overlap
    target = out or options.beside(folder, f"-{chunk_size}-{overlap}")
    ask_before_replacing(target, replace=replace, yes=yes)
    outcome = write_rechunked(folder, target, size=chunk_size, overlap=overlap, replace=replace)
    screen.add(
        folder=str(target),
        manifest=outcome.manifest.model_dump(mode="json"),
        skipped=list(map(str, outcome.skipped)),
        left_out=dict(outcome.left_out),
        passages_lost=outcome.passages_lost,
    )
    screen.note(*outcome.set_aside)
    screen.show(f"{queries(outcome.manifest.queries)} in {target / DATASET}")
    skipped = (f"skipped {line}" for line in outcome.skipped)
    screen.note_first(skipped, most=SHOWN, rest=f"more, all in {target / MANIFEST}")
    if outcome.passages_lost:
        screen.note(
            f"{amount(outcome.passages_lost, 'relevant passage')} besides the source: the evidence is in no new chunk, "
            "so no chunk is labelled"
        )
    left_out = (f"left out {query_id}: {reason}" for query_id, reason in outcome.left_out.items())
    screen.note_first(left_out, most=SHOWN, rest=f"more, all in {target / REJECTIONS}")


def export(
    folder: options.Folder,
    to: Annotated[Tool, options.Output(help="The tool.")],
    out: Annotated[
        Path | None, options.Output("--out", "-o", metavar="OUT", help="New file or folder (default: DIR-TOOL).")
    ] = None,
    force: Annotated[bool, options.Output("--force", help="Replace a file, or the folder of an export.")] = False,
) -> None:
    """Write a gold set for another tool.

    The export holds queries, relevant passages with ids and grades, reference answers and their evidence, as far as
    the tool has a place for them. The set is not changed.

    Example: goldbench export runs/mine --to ragas
    """
    from goldbench.exports.exported_set import read_set
    from goldbench.exports.placement import counts, export_set
    from goldbench.exports.targets import TARGETS

    target = out or options.beside(folder, f"-{to.value}{TARGETS[to].ending}")
    check_apart({"--out": target}, [folder])
    exported = export_set(read_set(folder), to.value, target, force=force)
    screen.note(*exported.remarks)
    screen.add(
        to=to.value,
        written=str(exported.place),
        queries=len(exported.written.queries),
        contexts=exported.written.contexts,
        references=exported.written.references,
    )
    screen.show(f"{counts(exported.written)} in {exported.place}")
