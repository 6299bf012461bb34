"""``goldbench review apply``, ``report``, ``export`` and ``import``: the use of people's decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from goldbench.cli.options import input_option, judging_option, output_option, people_option, statistics_option
from goldbench.cli.output import screen
from goldbench.cli.run_options import Seed
from goldbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from goldbench.review.kept_decisions import KeptDecisions


def _present(folder: Path) -> Path:
    """Refuse a folder that does not exist, before the extra that reads it is asked for."""
    if not folder.exists():
        raise InputError(folder, "folder not found; give the folder of a gold set")
    return folder


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.", callback=_present)]
LedgerOption = Annotated[
    str | None, input_option("--ledger", metavar="URL", help="Decisions: a file or postgresql:// (default: in DIR).")
]
HostOption = Annotated[str, people_option("--host", metavar="HOST", help="Address to listen at (default: 127.0.0.1).")]
NetworkOption = Annotated[bool, people_option("--allow-network", help="Allow a --host that other machines reach.")]
FormatOption = Annotated[
    Literal["native", "trec", "beir", "csv", "argilla", "label-studio"],
    input_option("--format", help="Only native keeps everything (default: native)."),
]


def decisions_kept(folder: Path, ledger: str | None = None, *, strict: bool = True) -> KeptDecisions | None:
    """Return the decisions applied to the set in a folder, None if there are none; the extra is asked for only then.

    Args:
        folder: The folder, which need not exist.
        ledger: The address of the ledger; None for the file in the folder.
        strict: As in `kept_decisions`.

    Raises:
        OutputError: As `kept_decisions`.
    """
    from goldbench.goldset.folder import GoldFolder

    if not GoldFolder(folder).has_reviews_applied():
        return None
    from goldbench.review.kept_decisions import kept_decisions

    return kept_decisions(folder, ledger, strict=strict, say=screen.note)


def apply(
    folder: Folder,
    ledger: LedgerOption = None,
    out: Annotated[
        Path | None, output_option(metavar="DIR2", help="Write a new set instead of changing this one.")
    ] = None,
    reject_bad: Annotated[
        bool, judging_option("--reject-bad", help="Reject queries called bad that nobody accepted.")
    ] = False,
) -> None:
    """Put people's decisions into the set.

    People's grades replace the model's; queries are accepted, edited or left out.
    """
    from goldbench.review.apply import apply_review
    from goldbench.text.display import amount, queries

    made = apply_review(folder, ledger=ledger, out=out, reject_bad=reject_bad)
    dropped = ", ".join(f"{number:,} {reason}" for reason, number in made.dropped.items()) or "none"
    screen.add(**{**asdict(made), "folder": str(made.folder)})
    screen.show(f"{queries(made.queries)}: {made.accepted:,} accepted, {made.edited:,} edited; left out: {dropped}")
    screen.show(
        f"{amount(made.people + made.model, 'judgment')}: {made.people:,} of people, {made.model:,} of {made.judge}"
    )
    if made.carried:
        screen.note(f"Given to an earlier wording of an edited query: {amount(made.carried, 'judgment')}")
    if made.undecided:
        screen.note(f"Called bad, still in the set: {queries(made.undecided)}; decide, or give --reject-bad")
    if made.not_applied:
        from goldbench.report.review_text import no_longer_applies

        screen.note(no_longer_applies(made.not_applied))
    screen.show(f"Written: {made.folder}")


def report(
    folder: Folder,
    ledger: LedgerOption = None,
    form: Annotated[Literal["text", "json"], output_option("--format", help="What to print (default: text).")] = "text",
    resamples: Annotated[
        int, statistics_option(metavar="N", min=100, help="Resamples of the queries (default: 1000).")
    ] = 1000,
    seed: Seed = 0,
) -> None:
    """Show how far people agree.

    Compares people with the model, with one another and with themselves, and says whether to stop judging.
    """
    from goldbench.report.review_text import lines
    from goldbench.review.findings import report as made
    from goldbench.review.people import load_reviewed

    found = made(load_reviewed(folder, ledger), resamples=resamples, seed=seed)
    if form == "json":
        typer.echo(found.model_dump_json(indent=2))
        return
    screen.show(*lines(found), indent="  ")


def export(
    folder: Folder,
    out: Annotated[
        Path, output_option("--out", metavar="PATH", help="A file; a folder for beir, argilla, label-studio.")
    ],
    kind: FormatOption = "native",
    ledger: LedgerOption = None,
    with_model_labels: Annotated[
        bool, output_option("--with-model-labels", help="Add the model's grades, which people will see.")
    ] = False,
    min_submitted: Annotated[
        int, people_option("--min-submitted", metavar="N", min=1, help="People per pair in Argilla (default: 1).")
    ] = 1,
) -> None:
    """Write people's decisions for other tools."""
    from goldbench.review.exports import export as write
    from goldbench.review.exports import export_ledger
    from goldbench.review.people import load_reviewed

    if with_model_labels and kind in {"native", "trec", "beir"}:
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
        from goldbench.text.display import amount

        many = amount(len(reviewed.strays), "decision")
        screen.note(f"Not in it: {many} about what the set does not hold any more; --format native has all")


def import_(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that goldbench or the other tool exported.")],
    kind: FormatOption = "native",
    ledger: LedgerOption = None,
    annotator: Annotated[
        str | None, people_option(metavar="NAME", help="Who judged; needed for trec and beir.")
    ] = None,
) -> None:
    """Add judgments made elsewhere to the ledger.

    Either the whole file is added, or nothing.
    """
    from datetime import UTC, datetime

    from goldbench.review.imports import import_file
    from goldbench.review.ledger import ledger_url, open_ledger
    from goldbench.review.meanings import SetMeanings
    from goldbench.review.reviewable_set import load_reviewable

    material = load_reviewable(folder)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    own = SetMeanings(material)
    with open_ledger(ledger_url(folder, ledger), data_sha=material.data_sha, meanings=own) as opened:
        done = import_file(file, kind, material=material, ledger=opened, at=at, annotator=annotator)
    screen.add(read=done.read, new=done.new)
    screen.show(f"{done.read:,} read, {done.new:,} new")


commands: dict[str, Callable[..., Any]] = {"apply": apply, "report": report, "export": export, "import": import_}
