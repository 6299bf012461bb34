"""``goldbench review`` and ``open``: the pages on which people judge and browse, and the use of their decisions."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlencode

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.runs import chosen
from goldbench.errors import InputError, UsageError
from goldbench.score.runs import Gold, load_gold, named_runs, read_results
from goldbench.text.display import amount, shown
from goldbench.text.display import queries as count_of

if TYPE_CHECKING:
    from goldbench.records.review_event import Lane
    from goldbench.review.assignment import Team
    from goldbench.review.ledger import Ledger
    from goldbench.review.page_server import PageSettings
    from goldbench.review.queue import QueueSettings
    from goldbench.review.server import OpenReview
    from goldbench.workbench.workbench_server import WorkbenchSettings

PORT = 8808
FEWEST = 1
MOST = 1000
"""The cutoffs that ``--k`` of open takes."""


def _check_host(context: typer.Context, host: str) -> str:
    """Refuse an address that other machines reach, unless that is allowed.

    Raises:
        UsageError: It is not allowed.
    """
    from goldbench.llm.connections import is_loopback

    if not is_loopback(host) and not context.params.get("allow_network"):
        raise UsageError(
            f"--host {host}: other machines could open the page, unencrypted; add --allow-network to accept that"
        )
    return host


HostOption = Annotated[str, options.People(metavar="HOST", help="Address to listen at.", callback=_check_host)]
NetworkOption = Annotated[
    bool, options.People("--allow-network", help="Allow a --host that other machines reach.", is_eager=True)
]
PortOption = Annotated[
    int | None, options.People(min=0, max=65535, help="Port; 0: any (default: 8808, or the next free).")
]
LeadOption = Annotated[
    list[str] | None, options.People(metavar="NAME", help="Who alone settles disagreements. Repeatable.")
]
AnnotatorOption = Annotated[
    list[str] | None, options.People(metavar="NAME", help="Who judges; each gets a link. Repeatable.")
]
FormatOption = Annotated[
    Literal["native", "trec", "csv", "argilla", "label-studio"],
    options.Input("--format", help="Only native keeps everything."),
]

app = options.subcommands(
    "Let people judge.\n\n`goldbench review DIR` is short for serve.\n\nExample: goldbench review runs/mine",
    cls=options.DefaultGroup,
)


@app.command()
def serve(
    folder: options.Folder,
    port: PortOption = None,
    host: HostOption = "127.0.0.1",
    allow_network: NetworkOption = False,
    annotator: AnnotatorOption = None,
    lead: LeadOption = None,
    ledger: options.LedgerOption = None,
    overlap: Annotated[
        float, options.Judging(metavar="SHARE", min=0, max=1, help="Pairs that two people judge.")
    ] = 0.2,
    calibration: Annotated[int, options.Judging(min=0, help="Pairs of the random sample.")] = 200,
    complete: Annotated[int, options.Judging(min=0, help="Queries whose whole pool is judged.")] = 20,
    lanes: Annotated[str, options.Judging(metavar="ABC", help="A sample, B likely errors, C whole queries.")] = "ABC",
    repeats: Annotated[int, options.Judging(min=0, help="Pairs shown twice to the same person.")] = 10,
    seed: Annotated[int, options.Judging(help="Seed of the sample and the order.")] = 0,
) -> None:
    """Open the page on which people judge passages.

    One key per judgment. --lanes chooses parts of the queue: A random sample, B likely judge errors, C queries judged
    completely. Nobody settles a disagreement on a passage that they judged themselves; without --lead, anybody else
    may. A --port that is taken is an error; without the option, the next free port after 8808 is used.

    Example: goldbench review runs/mine
    """
    from goldbench.review.assignment import team_of
    from goldbench.review.page_server import PageSettings, serve_page
    from goldbench.review.queue import QueueSettings
    from goldbench.review.server import opened, review_page

    settings = QueueSettings(
        calibration=calibration, complete=complete, overlap=overlap, seed=seed, lanes=_lanes(lanes)
    )
    with opened(folder, ledger, settings) as review:
        team = team_of(_annotators(annotator, review.ledger), _checked_names(lead, "--lead"))
        page_settings = PageSettings(
            annotators=team.annotators,
            team=team,
            port=PORT if port is None else port,
            elsewhere=port is None,
            host=host,
            network=allow_network,
            repeats=repeats,
            seed=seed,
        )
        _describe(review)
        _explain(settings, page_settings, team)
        serve_page(review_page(review, page_settings), page_settings, review.key, tell=_tell, complain=_complain)
        screen.explain(f"Stopped. {review.ledger.name} holds {amount(len(review.ledger.events()), 'event')}.")


def _lanes(letters: str) -> frozenset[Lane]:
    from goldbench.records.review_event import Lane
    from goldbench.report.review_text import LANES

    lanes = letters.upper().replace(",", "")
    if not lanes or set(lanes) - LANES.keys():
        known = ", ".join(f"{letter} ({meaning})" for letter, meaning in LANES.items())
        raise UsageError(f"--lanes: not a valid choice: {letters!r}; give some of {known}, as AB")
    return frozenset(map(Lane, lanes))


def _annotators(names: Sequence[str] | None, ledger: Ledger) -> tuple[str, ...]:
    """Return who judges: the given names, else the only person in the ledger, else the user of this machine."""
    if names:
        return _checked_names(names, "--annotator")
    from goldbench.review.state import fold

    known = fold(ledger.events()).annotators()
    return _checked_names(known if len(known) == 1 else [_user_name()], "--annotator")


def _checked_names(given: Sequence[str] | None, option: str) -> tuple[str, ...]:
    """Return names with single spaces between their words."""
    names = [" ".join(name.split()) for name in given or ()]
    if any(not (name and name.isprintable() and len(name) <= 64) for name in names):
        raise UsageError(f"{option}: give a name of 1 to 64 printable characters")
    if len(set(names)) < len(names):
        raise UsageError(f"{option}: the same name is given twice")
    return tuple(names)


def _user_name() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may know no user, Windows no list of users
        user = "annotator"
    if sys.stdin is None or not sys.stdin.isatty():
        return user
    return str(typer.prompt("Who judges", default=user))


def _describe(review: OpenReview) -> None:
    from goldbench.report.review_text import LANES

    sizes = ", ".join(f"{LANES[lane]} {number:,}" for lane, number in review.lanes().items())
    screen.explain(f"{count_of(len(review.material.queries))}, {amount(len(review.items), 'pair')} to judge: {sizes}.")
    screen.explain(f"Decisions are kept in {review.ledger.name}.")


def _explain(settings: QueueSettings, page_settings: PageSettings, team: Team) -> None:
    from goldbench.llm.connections import is_loopback

    if page_settings.network and not is_loopback(page_settings.host):
        screen.explain(
            "Warning: everybody who reaches this machine can try the page, and nothing is encrypted: documents, "
            "judgments and links can be read on the way. Where that matters, listen at 127.0.0.1 and use a tunnel to "
            "the same port (ssh -L)."
        )
    if settings.overlap:
        screen.explain(f"{settings.overlap:.0%} of the pairs are for two people.")
    if team.leads:
        screen.explain(f"Disagreements are settled by {', '.join(sorted(team.leads))}, never on passages of their own.")
    screen.explain("Each link works once; when it is used, the next one is shown here. Ctrl-C ends.")


def _tell(name: str, address: str) -> None:
    """Print a person's link at once, also into a pipe."""
    typer.echo(f"{name}: {address}")
    sys.stdout.flush()


def _complain(problem: str) -> None:
    """Print what is wrong with the server."""
    typer.echo(f"goldbench: {problem}", err=True)


@app.command()
def apply(
    folder: options.Folder,
    ledger: options.LedgerOption = None,
    out: Annotated[
        Path | None, options.Output(metavar="DIR2", help="Write a new set instead of changing this one.")
    ] = None,
    reject_bad: Annotated[
        bool, options.Judging("--reject-bad", help="Reject queries called bad that nobody accepted.")
    ] = False,
) -> None:
    """Put people's decisions into the set.

    People's grades replace the model's; queries are accepted, edited or left out.

    Example: goldbench review apply runs/mine --out runs/reviewed
    """
    from goldbench.review.apply import apply_review

    applied = apply_review(folder, ledger=ledger, out=out, reject_bad=reject_bad)
    dropped = ", ".join(f"{number:,} {reason}" for reason, number in applied.dropped.items()) or "none"
    screen.add(**{**asdict(applied), "folder": str(applied.folder)})
    judgments = amount(applied.people + applied.model, "judgment")
    screen.show(
        f"{count_of(applied.queries)}: {applied.accepted:,} accepted, {applied.edited:,} edited; left out: {dropped}",
        f"{judgments}: {applied.people:,} of people, {applied.model:,} of {applied.judge}",
    )
    if applied.carried:
        screen.note(f"Given to an earlier wording of an edited query: {amount(applied.carried, 'judgment')}")
    if applied.undecided:
        screen.note(f"Called bad, still in the set: {count_of(applied.undecided)}; decide, or give --reject-bad")
    if applied.not_applied:
        from goldbench.report.review_text import no_longer_applies

        screen.note(no_longer_applies(applied.not_applied))
    screen.show(f"Written: {applied.folder}")


@app.command()
def report(
    folder: options.Folder,
    ledger: options.LedgerOption = None,
    form: Annotated[Literal["text", "json"], options.Output("--format", help="What to print.")] = "text",
    resamples: Annotated[int, options.Statistics(min=100, help="Resamples of the queries.")] = 1000,
    seed: options.Seed = 0,
) -> None:
    """Show how far people agree.

    Compares people with the model, with one another and with themselves, and says whether to stop judging.

    Example: goldbench review report runs/mine
    """
    from goldbench.report.review_text import lines
    from goldbench.review.findings import report as compare_people
    from goldbench.review.people import load_reviewed

    findings = compare_people(load_reviewed(folder, ledger), resamples=resamples, seed=seed)
    if form == "json":
        typer.echo(findings.model_dump_json(indent=2))
        return
    screen.show(*lines(findings), indent="  ")


@app.command()
def export(
    folder: options.Folder,
    out: Annotated[Path, options.Output(metavar="PATH", help="A file; a folder for argilla, label-studio.")],
    kind: FormatOption = "native",
    ledger: options.LedgerOption = None,
    with_model_labels: Annotated[
        bool, options.Output("--with-model-labels", help="Add the model's grades, which people will see.")
    ] = False,
    min_submitted: Annotated[int, options.People(min=1, help="People per pair in Argilla.")] = 1,
) -> None:
    """Write people's decisions for other tools.

    Example: goldbench review export runs/mine --format csv --out judgments.csv
    """
    from goldbench.review.exports import export as write
    from goldbench.review.exports import export_ledger
    from goldbench.review.people import load_reviewed

    if with_model_labels and kind in {"native", "trec"}:
        raise UsageError(f"--with-model-labels: {kind} holds only people's decisions; leave the option out")
    try:
        reviewed = load_reviewed(folder, ledger, create=True)
    except InputError as problem:
        if kind != "native":
            raise
        (written,) = export_ledger(folder, ledger, out)
        screen.warn(f"{problem}; the ledger is exported without its set")
        screen.add(written=[str(written)])
        screen.show(f"Written: {written}")
        return
    paths = list(write(reviewed, kind, out, with_model_labels=with_model_labels, wanted=min_submitted))
    screen.add(written=[str(path) for path in paths])
    screen.show(*(f"Written: {path}" for path in paths))
    if reviewed.strays and kind != "native":
        many = amount(len(reviewed.strays), "decision")
        screen.note(f"Not in it: {many} about what the set does not hold any more; --format native has all")


@app.command("import")
def import_(
    folder: options.Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that goldbench or the other tool exported.")],
    kind: FormatOption = "native",
    ledger: options.LedgerOption = None,
    annotator: Annotated[str | None, options.People(metavar="NAME", help="Who judged; needed for trec.")] = None,
) -> None:
    """Add judgments made elsewhere to the ledger.

    Either the whole file is added, or nothing.

    Example: goldbench review import runs/mine judgments.csv --format csv
    """
    from goldbench.review.imports import import_file
    from goldbench.review.ledger import ledger_path, open_ledger
    from goldbench.review.meanings import SetMeanings
    from goldbench.review.reviewable_set import load_reviewable

    material = load_reviewable(folder)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    own = SetMeanings(material)
    with open_ledger(ledger_path(folder, ledger), data_sha=material.data_sha, meanings=own) as opened:
        done = import_file(file, kind, material=material, ledger=opened, at=at, annotator=annotator)
    screen.add(read=done.read, new=done.new)
    screen.show(f"{done.read:,} read, {done.new:,} new")


def open_(
    folder: options.Folder,
    query: Annotated[str | None, options.Input(metavar="ID", help="Open this query at once.")] = None,
    run: Annotated[
        list[str] | None, options.Input(metavar="NAME=FILE", help="A run beside those in DIR. Repeatable.")
    ] = None,
    measure: options.MeasureOption = None,
    k: Annotated[int | None, options.Measures(min=FEWEST, max=MOST, help="Results that decide on a failure.")] = None,
    html: Annotated[Path | None, options.Output(help="Write the page to a file; no server.")] = None,
    port: PortOption = None,
    host: HostOption = "127.0.0.1",
    allow_network: NetworkOption = False,
    annotator: AnnotatorOption = None,
    lead: LeadOption = None,
    ledger: options.LedgerOption = None,
) -> None:
    """Browse queries, results and failures.

    Shows the runs in DIR/runs and those of goldbench bench. Judgments and decisions about queries go into the ledger of
    goldbench review; goldbench review apply puts them into the set, and the page reads it again. --html writes up to
    2,000 queries into one file.

    Example: goldbench open runs/mine
    """
    wanted = _wanted(load_gold(folder), run or (), measure, k)
    if html is not None:
        _write(folder, html, wanted, ledger, query)
        return
    from goldbench.report.named_queries import PORT
    from goldbench.review.assignment import team_of
    from goldbench.review.page_server import PageSettings, serve_page
    from goldbench.workbench.workbench_server import Workbench

    with Workbench(folder, wanted, ledger=ledger) as workbench:
        table = workbench.table
        known = table.material.queries
        _check_query(query, known, folder)
        team = team_of(_annotators(annotator, workbench.ledger), _checked_names(lead, "--lead"))
        workbench.take_team(team)
        screen.explain(f"{count_of(len(known))}, {amount(len(table.systems.runs), 'system')}.")
        for problem in table.systems.problems:
            screen.warn(problem)
        screen.explain(f"Decisions are kept in {workbench.ledger.name}.")
        screen.explain("Each link works once; when it is used, the next one is shown here. Ctrl-C ends.")
        page_settings = PageSettings(
            team.annotators, PORT if port is None else port, host, elsewhere=port is None, network=allow_network
        )
        serve_page(workbench.page(), page_settings, workbench.key, at=_at(query), tell=_tell, complain=_complain)
    screen.explain("Stopped.")


def _check_query(query: str | None, known: Collection[str], folder: Path) -> None:
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
    from goldbench.text.suggestion import did_you_mean

    advice = did_you_mean(query, known, most=3) or "; goldbench open DIR lists all queries"
    raise UsageError(f"--query {shown(query)}: not a query of {shown(folder)}{advice}")


def _at(query: str | None) -> str:
    return f"#{urlencode({'query': query})}" if query is not None else ""


def _wanted(gold: Gold, run_files: Sequence[str], measure: list[str] | None, k: int | None) -> WorkbenchSettings:
    """Return what is shown; a failure is decided at the first cutoff of the measures unless ``k`` is given."""
    from goldbench.score.runs import DECIDING
    from goldbench.workbench.workbench_server import WorkbenchSettings

    measures = chosen(measure or list(DECIDING), None, gold)
    if any(item.family == "all" for item in measures):
        raise UsageError("--measure all@k: goldbench open shows measures of single passages; leave it out")
    cutoff = k or next((item.k for item in measures if item.k), None) or 10
    loaded = named_runs(run_files)
    for item in loaded.values():
        read_results(item)  # a run that cannot be read is refused before a page is served
    runs = {name: Path(item.path) for name, item in loaded.items()}
    return WorkbenchSettings(measures, cutoff, runs)


def _write(folder: Path, path: Path, wanted: WorkbenchSettings, ledger: str | None, query: str | None) -> None:
    """Write the page of a set to a file."""
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.goldset.gold_path import check_apart
    from goldbench.workbench.exported_page import exported
    from goldbench.workbench.workbench_server import decided, load_table, reviewable

    check_apart({"--html": path}, [folder, *wanted.runs.values()])
    material = reviewable(folder)
    _check_query(query, material.queries, folder)
    state = decided(folder, ledger, material)
    table = load_table(load_gold(folder), wanted, lambda: state, material)
    write_whole(path, exported(table).encode())
    for problem in table.systems.problems:
        screen.warn(problem)
    screen.note(f"Written: {path}")
