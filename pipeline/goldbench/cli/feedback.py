"""``goldbench feedback``: users' clicks and thumbs, counted in a file of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import input_option, output_option, print_list
from goldbench.cli.output import screen
from goldbench.cli.run_options import SearchedGold
from goldbench.errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from goldbench.formats.feedback_files import Vote

SHOWN = 20
"""Most rows without a match that are named on the screen."""


def feedback(
    gold: SearchedGold,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Rows of query, chunk_id, +1 or -1, or UBI events.")],
    out: Annotated[Path, output_option("--out", metavar="FILE", help="Output file, as feedback.jsonl.")],
    searches: Annotated[
        str | None, input_option("--searches", metavar="FILE", help="UBI searches of the events (default: in FILE).")
    ] = None,
) -> None:
    """Count users' clicks and thumbs per passage.

    The counts go into a file of their own and never change the judgments. FILE may be an export of OpenSearch's User
    Behavior Insights (ubi_events), whose object_id is the id of a passage of the set.
    """
    from goldbench.errors import explained
    from goldbench.formats.feedback_files import clicks_in, gather, read_votes
    from goldbench.formats.jsonl import write_lines
    from goldbench.formats.packed_files import Source
    from goldbench.goldset.folder import GoldFolder
    from goldbench.score.runs import load_gold

    _check_target(out, gold, file)
    loaded = load_gold(gold)
    waiting = {query.query_id: query.text for query in GoldFolder(Path(gold)).waiting()}
    queries, corpus = loaded.queries() | waiting, loaded.corpus()
    if not queries or not corpus:
        raise InputError(gold, "holds no texts of queries and passages to match; name the folder of a build")
    source = Source(file)
    clicks = clicks_in(source, None if searches is None else Source(searches))
    if clicks is None and searches is not None:
        raise UsageError(f"--searches {searches}: {file} holds no events of User Behavior Insights")
    found = gather(clicks.votes() if clicks else read_votes(source), queries, corpus)
    if clicks is not None:
        _count(clicks.passed_over, unmatched=len(found.unmatched))
    if not found.rows:
        raise InputError(file, "holds no feedback; give rows of query, chunk_id and vote")
    _name("whose query is not in the gold set", () if clicks else found.unmatched, by_query=True)
    _name("whose passage is not in the gold set", found.unknown, by_query=False)
    if not found.feedback:
        raise InputError(file, f"no row is about a query and a passage of {gold}; nothing was written")
    with explained(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_lines(out, found.feedback)
    kept = found.rows - len(found.unmatched) - len(found.unknown)
    screen.add(
        rows=found.rows,
        kept=kept,
        unmatched=len(found.unmatched),
        unknown=len(found.unknown),
        pairs=len(found.feedback),
        written=str(out),
    )
    screen.show(f"{kept:,} of {found.rows:,} rows kept, query-passage pairs in {out}: {len(found.feedback):,}")


def _check_target(out: Path, gold: str, file: str) -> None:
    if out.resolve() == Path(file).resolve():
        raise UsageError(f"{out}: is the input file; give another --out")
    if out.exists():
        from goldbench.formats.jsonl import RecordFile
        from goldbench.records.judgment import Feedback

        try:
            for _ in RecordFile.open(out, Feedback):
                pass
        except (InputError, OSError):
            raise OutputError(f"{out}: exists and holds no feedback; give another --out") from None
    if Path(gold).is_dir() and out.resolve().parent == Path(gold).resolve() and out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: in the folder of a gold set, give feedback.jsonl")


def _count(passed_over: Mapping[str, int], *, unmatched: int) -> None:
    """Print how many events are no feedback on the set; what users asked is not printed."""
    said = {
        "events for or against no result (views, impressions and other actions)": passed_over["other-action"],
        "events that name no search or no result": passed_over["no-result"],
        "events of a search that is not in the export": passed_over["no-search"],
        "repeated events of one search on one result": passed_over["again"],
        "clicks and votes on queries that are not in the gold set": unmatched,
    }
    for what, count in said.items():
        if count:
            screen.note(f"{what}: {count:,}")


def _name(what: str, votes: Sequence[Vote], *, by_query: bool) -> None:
    """Print the rows that match no query or no passage of the set."""
    from goldbench.text.display import amount, printable

    if votes:
        screen.note(f"{amount(len(votes), 'row')} {what}:")
    texts = (f"  line {vote.line}: {printable(vote.query if by_query else vote.chunk_id)[:200]}" for vote in votes)
    print_list(texts, shown=SHOWN, rest="more")
