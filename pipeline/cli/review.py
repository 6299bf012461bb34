"""``goldset review``: the page on which people judge."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from pipeline.cli.review_files import commands
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.review.ledger import Ledger
    from pipeline.review.queue import QueueSettings
    from schemas.review_event import Lane

DEFAULT = "serve"
PORT = 8808


class _ServeUnlessNamed(TyperGroup):
    """A group whose first command may be left out: ``goldset review DIR`` is ``goldset review serve DIR``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer keeps its class to itself
        """Put the command in front where none is named."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ServeUnlessNamed,
    help="Let people judge; `goldset review DIR` is short for serve.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _name, _command in commands.items():
    app.command(_name)(_command)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a build, graded or not.")],
    port: Annotated[int, typer.Option(help="The page's port; 0 takes a free one.", min=0, max=65535)] = PORT,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let --host be an address that others reach.")
    ] = False,
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who judges; once per person, each gets a link.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="URL", help="Where decisions are kept: a file or postgresql://… (DIR).")
    ] = None,
    overlap: Annotated[float, typer.Option(help="Share of pairs that two people judge.", min=0, max=1)] = 0.2,
    calibration: Annotated[int, typer.Option(help="Pairs of the random sample, lane A.", min=0)] = 200,
    complete: Annotated[int, typer.Option(help="Queries judged to the bottom of the pool, lane C.", min=0)] = 20,
    lanes: Annotated[str, typer.Option(help="Which lanes to show.")] = "ABC",
    repeats: Annotated[int, typer.Option(help="Pairs that come back to the same person.", min=0)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of every order.")] = 0,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="For training: show the judge's grade first, and mark every judgment so.")
    ] = False,
) -> None:
    """Open the page in which people judge passages, by one key each."""
    from pipeline.report.review_text import LANES
    from pipeline.review.queue import QueueSettings
    from pipeline.review.server import Place, opened
    from pipeline.review.server import serve as run

    _check_host(host, allowed=allow_network)
    settings = QueueSettings(
        calibration=calibration, complete=complete, overlap=overlap, seed=seed, lanes=_lanes(lanes)
    )
    with opened(folder, ledger, settings) as review:
        place = Place(
            annotators=_names(annotator, review.ledger),
            port=port,
            host=host,
            network=allow_network,
            training=reveal,
            repeats=repeats,
            seed=seed,
        )
        sizes = ", ".join(f"{LANES[lane]} {number:,}" for lane, number in review.lanes().items())
        typer.echo(f"{len(review.material.queries):,} queries, {len(review.items):,} pairs to judge: {sizes}.")
        typer.echo(f"Decisions are kept in {review.ledger.name}.")
        _explain(settings, training=reveal, network=allow_network, host=host)
        events = run(review, place, tell=_tell, complain=_complain)
        typer.echo(f"Ended; {review.ledger.name} holds {events:,} events.")


def _check_host(host: str, *, allowed: bool) -> None:
    from pipeline.llm.proxies import is_loopback

    if not is_loopback(host) and not allowed:
        raise UsageError(
            f"--host {host}: others on the network could open the page, unencrypted; "
            "add --allow-network if that is meant"
        )


def _lanes(given: str) -> frozenset[Lane]:
    from schemas.review_event import Lane

    known = {lane.value: lane for lane in Lane}
    chosen = given.upper().replace(",", "")
    if not chosen or set(chosen) - known.keys():
        raise UsageError(f"--lanes {given!r}: give some of A, B and C, as AB")
    return frozenset(known[letter] for letter in chosen)


def _names(given: Sequence[str] | None, ledger: Ledger) -> tuple[str, ...]:
    """Return who judges: as given, else the one person the ledger knows, else whoever sits here."""
    names = [" ".join(name.split()) for name in given or ()]
    if not names:
        from pipeline.review.state import fold

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
    except (OSError, KeyError):  # a container may know no user
        user = "annotator"
    if sys.stdin is None or not sys.stdin.isatty():
        return user
    return str(typer.prompt("Who judges", default=user))


def _explain(settings: QueueSettings, *, training: bool, network: bool, host: str) -> None:
    from pipeline.llm.proxies import is_loopback

    if training:
        typer.echo("Warning: --reveal shows the judge's grade first; these judgments enter no figure of agreement.")
    if network and not is_loopback(host):
        typer.echo(
            "Warning: everybody who reaches this machine can try the page, and nothing is encrypted: documents, "
            "judgments and links can be read on the way. Where that matters, listen at 127.0.0.1 and use a tunnel to "
            "the same port (ssh -L)."
        )
    if settings.overlap:
        typer.echo(f"{settings.overlap:.0%} of the pairs are for two people.")
    typer.echo("Each link is good once; when it is used, the next one is shown here. Ctrl-C ends.")


def _tell(name: str, address: str) -> None:
    typer.echo(f"{name}: {address}")
    sys.stdout.flush()


def _complain(problem: str) -> None:
    typer.echo(f"goldset: {problem}", err=True)
