"""``goldbench card`` and ``agreement``: how far a gold set, or labels, can be trusted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.errors import NEGATIVE

if TYPE_CHECKING:
    from goldbench.records.agreement_report import Agreement
    from goldbench.records.set_card import Card


def card(
    folder: options.Folder,
    seed: options.Seed = 0,
    form: options.TableForm = "table",
    write: Annotated[bool, options.Output("--write/--no-write", help="Write card.md and card.json into DIR.")] = True,
) -> None:
    """Show how far a gold set can be trusted.

    Covers coverage, overlap, unjudged passages, the judge, and what rankings by the set are worth.

    Example: goldbench card runs/mine
    """
    from goldbench.card import make_card, write_card
    from goldbench.report import card_text as report

    described = make_card(folder, seed=seed)
    paths = write_card(folder, described) if write else ()
    if form == "json":
        typer.echo(described.model_dump_json(indent=1))
    elif form == "markdown":
        typer.echo(report.markdown(described), nl=False)
    else:
        _show_card(described, folder)
        if screen.verbose:
            screen.note(*report.remarks(described))
        elif described.notice:
            screen.warn(described.notice)
    if write:
        screen.note(f"Written: {', '.join(map(str, paths))}")


def _show_card(card: Card, folder: Path) -> None:
    """Print the verdict and the figures that limit it, with ``--verbose`` every figure with its meaning."""
    from goldbench.report import card_text as report
    from goldbench.report.scorecard_text import first_lines, further_lines

    screen.show(*first_lines(card.verdict), report.heading(card), "")
    figures = card.figures if screen.verbose else report.doubtful(card)
    if figures:
        screen.described(report.figure_rows(figures, meanings=screen.verbose))
    name = shlex.quote(str(folder))
    screen.show(*report.named_queries(card, name))
    further = further_lines(card.verdict, whole=screen.verbose)
    rest = "" if screen.verbose else f" goldbench card {name} -v shows all of them."
    screen.show(*(["", *further] if further else []), f"{report.verdict(card)}{rest}")


def agreement(
    first: Annotated[str, typer.Argument(metavar="A", help="Reference labels, as people's: a file or a set's folder.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Labels to compare, as a model's.")],
    run: Annotated[
        list[str] | None, options.Input(metavar="NAME=FILE", help="Runs that A and B rank. Repeatable.")
    ] = None,
    measure: Annotated[str | None, options.Measures(help="Measure that ranks systems (default: ndcg@10).")] = None,
    level: Annotated[int, options.Measures("--rel", min=1, help="Smallest relevant grade.")] = 2,
    scale: Annotated[int | None, options.Measures(min=1, help="Highest grade; higher ones count as N.")] = None,
    resamples: Annotated[int, options.Statistics(min=100, help="Resamples of the bootstrap.")] = 1000,
    seed: options.Seed = 0,
    form: options.TableForm = "table",
    wide: options.Wide = False,
) -> None:
    """Compare two sets of labels.

    Shows how far they agree (kappa, alpha, bias, the worth of a grade), and whether they rank systems alike. A and B
    are qrels, judgments, reviews or the folder of a gold set.

    Example: goldbench agreement people.txt runs/mine
    """
    from goldbench.agreement.judgment_files import read_labels
    from goldbench.agreement.label_pairs import agree, rank_runs
    from goldbench.measures.names import parse_measure
    from goldbench.score.runs import named_runs
    from goldbench.text.display import shown

    reference = read_labels(first)
    judge = read_labels(second)
    if reference.name == judge.name:
        reference.name = shown(first)
        judge.name = shown(second)
    report = agree(reference, judge, level=level, scale=scale, resamples=resamples, seed=seed)
    if run:
        parsed = parse_measure(measure or "ndcg@10", rel=level)
        ranking = rank_runs(reference.grades, judge.grades, named_runs(run), measure=parsed)
        report = report.model_copy(update={"ranking": ranking})
    _print_agreement(report, form, wide=wide)
    if report.overall is None and report.ranking is None:
        raise typer.Exit(NEGATIVE)


def _print_agreement(agreement: Agreement, form: str, *, wide: bool) -> None:
    from goldbench.report.agreement_text import markdown

    if form == "table":
        show_agreement(agreement, whole=wide or screen.verbose)
    elif form == "json":
        typer.echo(agreement.model_dump_json(indent=2))
    else:
        typer.echo(markdown(agreement), nl=False)


def show_agreement(agreement: Agreement, *, whole: bool) -> None:
    """Print an agreement.

    Args:
        agreement: The agreement.
        whole: Whether every figure is shown, or the few that matter most.
    """
    from goldbench.report import agreement_text as report

    verdict = report.verdict(agreement)
    screen.show(*([verdict] if verdict else []), *report.words(agreement))
    for section in report.sections(agreement, whole=whole):
        screen.show("", section.title)
        if section.head[-1] == "" and any(row[-1] for row in section.rows):
            screen.table([[cell or "-" for cell in row[:-1]] for row in [section.head, *section.rows]], indent="  ")
            screen.show(*(f"  {row[0]} is absent: {row[-1]}" for row in section.rows if row[-1]), indent="    ")
        else:
            screen.table([section.head, *section.rows], indent="  ")
    screen.show("", report.method(agreement))
