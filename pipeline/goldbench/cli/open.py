"""``goldbench open``: the workbench, a page with every query, every system's results and the causes of failures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from goldbench.cli.options import input_option, measure_option, output_option, people_option
from goldbench.cli.output import screen
from goldbench.cli.review import LeadOption, annotators, check_host, checked_names, complain, tell
from goldbench.cli.review_files import Folder, HostOption, LedgerOption, NetworkOption
from goldbench.cli.run_options import MeasureOption, chosen
from goldbench.errors import UsageError

if TYPE_CHECKING:
    from goldbench.score.runs import Gold
    from goldbench.workbench.workbench_server import Wanted

FEWEST, MOST = 1, 1000
"""The cutoffs that ``--k`` takes."""


def open_(
    folder: Folder,
    query: Annotated[str | None, input_option("--query", metavar="ID", help="Open this query at once.")] = None,
    run: Annotated[
        list[str] | None, input_option("--run", metavar="NAME=FILE", help="A run beside those in DIR. Repeatable.")
    ] = None,
    measure: MeasureOption = None,
    k: Annotated[
        int | None, measure_option("--k", metavar="N", min=FEWEST, max=MOST, help="Results that decide on a failure.")
    ] = None,
    html: Annotated[
        Path | None, output_option("--html", metavar="FILE", help="Write the page to a file; no server.")
    ] = None,
    port: Annotated[
        int | None,
        people_option(metavar="N", min=0, max=65535, help="Port of the page; 0: any (default: 8809 or the next free)."),
    ] = None,
    host: HostOption = "127.0.0.1",
    allow_network: NetworkOption = False,
    annotator: Annotated[
        list[str] | None, people_option(metavar="NAME", help="Who decides; each gets a link. Repeatable.")
    ] = None,
    lead: LeadOption = None,
    ledger: LedgerOption = None,
) -> None:
    """Browse queries, results and failures.

    Shows the runs in DIR/runs and those of goldbench bench. Judgments and decisions about queries go into the ledger of
    goldbench review; goldbench review apply puts them into the set, and the page reads it again. --html writes up to
    2,000 queries into one file.
    """
    from goldbench.score.runs import load_gold

    check_host(host, allowed=allow_network)
    wanted = _wanted(load_gold(folder), run or (), measure, k)
    if html is not None:
        _write(folder, html, wanted, ledger, query)
        return
    from goldbench.report.named_queries import PORT
    from goldbench.review.server import Place
    from goldbench.review.team import team_of
    from goldbench.text.display import amount, queries
    from goldbench.workbench.workbench_server import Workbench, opened

    with opened(folder, ledger) as (material, book):
        check_query(query, material.queries, folder)
        team = team_of(annotators(annotator, book), checked_names(lead, "--lead"), ())
        workbench = Workbench(material, book, wanted, address=ledger, team=team)
        table = workbench.table
        screen.explain(f"{queries(len(material.queries))}, {amount(len(table.systems.runs), 'system')}.")
        for problem in table.systems.problems:
            screen.warn(problem)
        screen.explain(f"Decisions are kept in {book.name}.")
        screen.explain("Each link works once; when it is used, the next one is shown here. Ctrl-C ends.")
        place = Place(
            team.annotators, PORT if port is None else port, host, elsewhere=port is None, network=allow_network
        )
        workbench.serve(place, at=_at(query), tell=tell, complain=complain)
    screen.explain("Stopped.")


def check_query(query: str | None, known: Collection[str], folder: Path) -> None:
    """Refuse a query that the set does not hold, and name those whose ids are most alike.

    Args:
        query: The id, or None.
        known: The ids of the set.
        folder: The folder of the set.

    Raises:
        UsageError: The set has no such query.
    """
    if query is None or query in known:
        return
    from goldbench.text.display import shown
    from goldbench.text.suggestion import did_you_mean

    advice = did_you_mean(query, known, most=3) or "; goldbench open DIR lists all queries"
    raise UsageError(f"--query {shown(query)}: not a query of {shown(folder)}{advice}")


def _at(query: str | None) -> str:
    return f"#{urlencode({'query': query})}" if query is not None else ""


def _wanted(gold: Gold, given: Sequence[str], measure: list[str] | None, k: int | None) -> Wanted:
    """Return what is shown; a failure is decided at the first cutoff of the measures unless ``k`` is given."""
    from goldbench.score.runs import named_runs, read_results
    from goldbench.score.several_runs import DECIDING
    from goldbench.workbench.workbench_server import Wanted

    measures = chosen(measure or list(DECIDING), None, gold)
    if any(one.family == "all" for one in measures):
        raise UsageError("--measure all@k: goldbench open shows measures of single passages; leave it out")
    cutoff = k or next((one.k for one in measures if one.k), None) or 10
    loaded = named_runs(given)
    for one in loaded.values():
        read_results(one)  # a run that cannot be read is refused before a page is served
    runs = {name: Path(one.path) for name, one in loaded.items()}
    return Wanted(measures, cutoff, runs)


def _write(folder: Path, path: Path, wanted: Wanted, ledger: str | None, query: str | None) -> None:
    """Write the page of a set to a file."""
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.goldset.gold_path import check_apart, notice_of
    from goldbench.score.runs import load_gold
    from goldbench.workbench.exported_page import exported
    from goldbench.workbench.workbench_server import decided, load_table, reviewable

    check_apart({"--html": path}, [folder, *wanted.runs.values()])
    material = reviewable(folder)
    check_query(query, material.queries, folder)
    state = decided(folder, ledger, material)
    table = load_table(load_gold(folder), wanted, lambda: state, material)
    write_whole(path, exported(table, notice=notice_of(folder)).encode())
    for problem in table.systems.problems:
        screen.warn(problem)
    screen.note(f"Written: {path}")
