"""``goldbench review``: the page on which people judge."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import DefaultGroup, judging_option, people_option, subcommands
from goldbench.cli.output import screen
from goldbench.cli.review_files import Folder, HostOption, LedgerOption, NetworkOption, commands
from goldbench.errors import UsageError

if TYPE_CHECKING:
    from goldbench.records.review_event import Lane
    from goldbench.review.ledger import Ledger
    from goldbench.review.queue import QueueSettings
    from goldbench.review.server import Opened, Place
    from goldbench.review.team import Team

PORT = 8808

PortOption = Annotated[
    int | None,
    people_option(metavar="N", min=0, max=65535, help="Port of the page; 0: any (default: 8808 or the next free)."),
]
LeadOption = Annotated[
    list[str] | None, people_option(metavar="NAME", help="Who alone settles disagreements. Repeatable.")
]
TargetOption = Annotated[
    list[str] | None, people_option(metavar="[NAME=]N", help="Pairs that NAME, or everybody, is to judge.")
]

app = subcommands("Let people judge.\n\n`goldbench review DIR` is short for serve.", cls=DefaultGroup)


@app.command()
def serve(
    folder: Folder,
    port: PortOption = None,
    host: HostOption = "127.0.0.1",
    allow_network: NetworkOption = False,
    annotator: Annotated[
        list[str] | None, people_option(metavar="NAME", help="Who judges; each gets a link. Repeatable.")
    ] = None,
    lead: LeadOption = None,
    target: TargetOption = None,
    ledger: LedgerOption = None,
    overlap: Annotated[
        float, judging_option(metavar="SHARE", min=0, max=1, help="Pairs that two people judge (default: 0.2 = 20 %).")
    ] = 0.2,
    calibration: Annotated[
        int, judging_option(metavar="N", min=0, help="Pairs of the random sample (default: 200).")
    ] = 200,
    complete: Annotated[
        int, judging_option(metavar="N", min=0, help="Queries whose whole pool is judged (default: 20).")
    ] = 20,
    lanes: Annotated[
        str, judging_option(metavar="ABC", help="A sample, B likely errors, C whole queries (default: ABC).")
    ] = "ABC",
    repeats: Annotated[
        int, judging_option(metavar="N", min=0, help="Pairs shown twice to the same person (default: 10).")
    ] = 10,
    seed: Annotated[int, judging_option(metavar="N", help="Seed of the sample and the order (default: 0).")] = 0,
    reveal: Annotated[
        bool, judging_option("--reveal", help="Training: show the judge's grade first, mark judgments.")
    ] = False,
) -> None:
    """Open the page on which people judge passages.

    One key per judgment. --lanes chooses parts of the queue: A random sample, B likely judge errors, C queries judged
    completely. Nobody settles a disagreement on a passage that they judged themselves; without --lead, anybody else
    may. A --port that is taken is an error; without the option, the next free port after 8808 is used.
    """
    from goldbench.review.queue import QueueSettings
    from goldbench.review.server import Place, opened
    from goldbench.review.server import serve as run
    from goldbench.review.team import team_of
    from goldbench.text.display import amount

    check_host(host, allowed=allow_network)
    settings = QueueSettings(
        calibration=calibration, complete=complete, overlap=overlap, seed=seed, lanes=_lanes(lanes)
    )
    with opened(folder, ledger, settings) as review:
        team = team_of(annotators(annotator, review.ledger), checked_names(lead, "--lead"), target or ())
        place = Place(
            annotators=team.annotators,
            team=team,
            port=PORT if port is None else port,
            elsewhere=port is None,
            host=host,
            network=allow_network,
            training=reveal,
            repeats=repeats,
            seed=seed,
        )
        _describe(review)
        _explain(settings, place, team)
        events = run(review, place, tell=tell, complain=complain)
        screen.explain(f"Stopped. {review.ledger.name} holds {amount(events, 'event')}.")


def check_host(host: str, *, allowed: bool) -> None:
    """Refuse an address that other machines reach, unless that is allowed.

    Raises:
        UsageError: It is not allowed.
    """
    from goldbench.llm.connections import is_loopback

    if not is_loopback(host) and not allowed:
        raise UsageError(
            f"--host {host}: other machines could open the page, unencrypted; add --allow-network to accept that"
        )


def _lanes(given: str) -> frozenset[Lane]:
    from goldbench.records.review_event import Lane
    from goldbench.report.review_text import LANES

    chosen = given.upper().replace(",", "")
    if not chosen or set(chosen) - LANES.keys():
        known = ", ".join(f"{letter} ({meaning})" for letter, meaning in LANES.items())
        raise UsageError(f"--lanes: not a valid choice: {given!r}; give some of {known}, as AB")
    return frozenset(map(Lane, chosen))


def annotators(given: Sequence[str] | None, ledger: Ledger) -> tuple[str, ...]:
    """Return who judges: the given names, else the only person in the ledger, else the user of this machine."""
    if given:
        return checked_names(given, "--annotator")
    from goldbench.review.state import fold

    known = fold(ledger.events()).annotators()
    return checked_names(known if len(known) == 1 else [_asked()], "--annotator")


def checked_names(given: Sequence[str] | None, option: str) -> tuple[str, ...]:
    """Return names with single spaces between their words."""
    names = [" ".join(name.split()) for name in given or ()]
    if any(not (name and name.isprintable() and len(name) <= 64) for name in names):
        raise UsageError(f"{option}: give a name of 1 to 64 printable characters")
    if len(set(names)) < len(names):
        raise UsageError(f"{option}: the same name is given twice")
    return tuple(names)


def _asked() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may know no user, Windows no list of users
        user = "annotator"
    if sys.stdin is None or not sys.stdin.isatty():
        return user
    return str(typer.prompt("Who judges", default=user))


def _describe(review: Opened) -> None:
    from goldbench.report.review_text import LANES
    from goldbench.text.display import amount, queries

    sizes = ", ".join(f"{LANES[lane]} {number:,}" for lane, number in review.lanes().items())
    screen.explain(f"{queries(len(review.material.queries))}, {amount(len(review.items), 'pair')} to judge: {sizes}.")
    screen.explain(f"Decisions are kept in {review.ledger.name}.")


def _explain(settings: QueueSettings, place: Place, team: Team) -> None:
    from goldbench.llm.connections import is_loopback

    if place.training:
        screen.explain("Warning: --reveal shows the judge's grade first; these judgments count in no agreement figure.")
    if place.network and not is_loopback(place.host):
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


def tell(name: str, address: str) -> None:
    """Print a person's link at once, also into a pipe."""
    typer.echo(f"{name}: {address}")
    sys.stdout.flush()


def complain(problem: str) -> None:
    """Print what is wrong with the server."""
    typer.echo(f"goldbench: {problem}", err=True)


for _name, _command in commands.items():
    app.command(_name)(_command)
