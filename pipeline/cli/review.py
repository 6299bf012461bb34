"""``goldbench review``: the page on which people judge."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.pipeline.cli.options import DefaultGroup, judging_option, people_option, subcommands
from goldbench.pipeline.cli.review_files import Folder, LedgerOption, commands
from goldbench.pipeline.errors import UsageError

if TYPE_CHECKING:
    from goldbench.pipeline.review.ledger import Ledger
    from goldbench.pipeline.review.queue import QueueSettings
    from goldbench.schemas.review_event import Lane

PORT = 8808

app = subcommands("Let people judge.\n\n`goldbench review DIR` is short for serve.", cls=DefaultGroup)


@app.command()
def serve(
    folder: Folder,
    port: Annotated[
        int, people_option(metavar="N", min=0, max=65535, help="Port of the page; 0: a free one (default: 8808).")
    ] = PORT,
    host: Annotated[
        str, people_option(metavar="HOST", help="Address to listen at (default: 127.0.0.1).")
    ] = "127.0.0.1",
    allow_network: Annotated[
        bool, people_option("--allow-network", help="Allow a --host that other machines reach.")
    ] = False,
    annotator: Annotated[
        list[str] | None, people_option(metavar="NAME", help="Who judges; each gets a link. Repeatable.")
    ] = None,
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
    completely.
    """
    from goldbench.pipeline.report.review_text import LANES
    from goldbench.pipeline.review.queue import QueueSettings
    from goldbench.pipeline.review.server import Place, opened
    from goldbench.pipeline.review.server import serve as run
    from goldbench.pipeline.text.display import amount, queries

    check_host(host, allowed=allow_network)
    settings = QueueSettings(
        calibration=calibration, complete=complete, overlap=overlap, seed=seed, lanes=_lanes(lanes)
    )
    with opened(folder, ledger, settings) as review:
        place = Place(
            annotators=annotators(annotator, review.ledger),
            port=port,
            host=host,
            network=allow_network,
            training=reveal,
            repeats=repeats,
            seed=seed,
        )
        sizes = ", ".join(f"{LANES[lane]} {number:,}" for lane, number in review.lanes().items())
        typer.echo(f"{queries(len(review.material.queries))}, {amount(len(review.items), 'pair')} to judge: {sizes}.")
        typer.echo(f"Decisions are kept in {review.ledger.name}.")
        _explain(settings, training=reveal, network=allow_network, host=host)
        events = run(review, place, tell=tell, complain=complain)
        typer.echo(f"Stopped. {review.ledger.name} holds {amount(events, 'event')}.")


def check_host(host: str, *, allowed: bool) -> None:
    """Refuse an address that other machines reach, unless that is allowed.

    Raises:
        UsageError: It is not allowed.
    """
    from goldbench.pipeline.llm.proxies import is_loopback

    if not is_loopback(host) and not allowed:
        raise UsageError(
            f"--host {host}: other machines could open the page, unencrypted; add --allow-network to accept that"
        )


def _lanes(given: str) -> frozenset[Lane]:
    from goldbench.pipeline.report.review_text import LANES
    from goldbench.schemas.review_event import Lane

    chosen = given.upper().replace(",", "")
    if not chosen or set(chosen) - LANES.keys():
        known = ", ".join(f"{letter} ({meaning})" for letter, meaning in LANES.items())
        raise UsageError(f"--lanes: not a valid choice: {given!r}; give some of {known}, as AB")
    return frozenset(map(Lane, chosen))


def annotators(given: Sequence[str] | None, ledger: Ledger) -> tuple[str, ...]:
    """Return who judges: the given names, else the only person in the ledger, else the user of this machine."""
    names = [" ".join(name.split()) for name in given or ()]
    if not names:
        from goldbench.pipeline.review.state import fold

        known = fold(ledger.events()).annotators()
        names = known if len(known) == 1 else [_asked()]
    bad = next((name for name in names if not (name and name.isprintable() and len(name) <= 64)), None)
    if bad is not None:
        raise UsageError("--annotator: give a name of 1 to 64 printable characters")
    if len(set(names)) < len(names):
        raise UsageError("--annotator: the same name is given twice")
    return tuple(names)


def _asked() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may know no user, Windows no list of users
        user = "annotator"
    if sys.stdin is None or not sys.stdin.isatty():
        return user
    return str(typer.prompt("Who judges", default=user))


def _explain(settings: QueueSettings, *, training: bool, network: bool, host: str) -> None:
    from goldbench.pipeline.llm.proxies import is_loopback

    if training:
        typer.echo("Warning: --reveal shows the judge's grade first; these judgments count in no agreement figure.")
    if network and not is_loopback(host):
        typer.echo(
            "Warning: everybody who reaches this machine can try the page, and nothing is encrypted: documents, "
            "judgments and links can be read on the way. Where that matters, listen at 127.0.0.1 and use a tunnel to "
            "the same port (ssh -L)."
        )
    if settings.overlap:
        typer.echo(f"{settings.overlap:.0%} of the pairs are for two people.")
    typer.echo("Each link works once; when it is used, the next one is shown here. Ctrl-C ends.")


def tell(name: str, address: str) -> None:
    """Print a person's link at once, also into a pipe."""
    typer.echo(f"{name}: {address}")
    sys.stdout.flush()


def complain(problem: str) -> None:
    """Print what is wrong with the server."""
    typer.echo(f"goldbench: {problem}", err=True)


for _name, _command in commands.items():
    app.command(_name)(_command)
