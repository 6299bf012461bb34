"""Commands that end at any moment of their writing, by a signal or a full disk: old state or new state."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.goldset.integrity import validate
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import BadQuery, EventKind
from tests.bench.bench_files import write_bench_gold
from tests.bench.test_bench import TWO
from tests.conftest import Goldbench, posix
from tests.generate.test_build import corpus
from tests.goldset.test_difference import write_beir
from tests.grade.graded_sets import write_set
from tests.killed_commands import Ended, Nursery, moments
from tests.model_server.fixture import ServerHandle
from tests.review.conftest import events_of
from tests.review.made_set import event, ledger_of, make_set

State = dict[str, bytes]
MOST = 6
"""Moments at which a command is killed, and as many at which it is interrupted; fewer for commands that take long."""
SIZES = 5
"""Sizes of the disk, from one without room to one that holds all twice."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command that writes: its words, how its folder is prepared, and whether it keeps each part that is finished."""

    words: tuple[str, ...]
    prepare: Callable[[Path, Goldbench], None]
    made: str
    asks: bool = False
    by_parts: bool = False
    moments: int = MOST


def _applied(folder: Path, _: Goldbench) -> None:
    gold = make_set(folder / "gold", queries=6, pool=5).folder
    material, ledger = ledger_of(gold)
    with ledger:
        ledger.append_all(
            [
                event(material, EventKind.JUDGE, "q001", grade=Relevance(0), chunk_id="c001-0"),
                event(material, EventKind.EDIT_QUERY, "q002", text="Second?"),
                event(material, EventKind.REJECT_QUERY, "q003", reason=BadQuery.UNREALISTIC),
            ]
        )


def _built(folder: Path, goldbench: Goldbench) -> None:
    corpus(folder / "docs")
    done = goldbench("build", folder / "docs", "--out", folder / "gold", "--queries", 8)
    assert done.returncode == 0, done.stderr


def _graded(folder: Path, goldbench: Goldbench) -> None:
    known = write_set(folder / "gold", subjects=4)
    (folder / "truth.json").write_text(json.dumps(known.truth), encoding="utf-8")
    others = [chunk_id for ids in known.ids.values() for chunk_id in ids]
    lines = [
        f"{query} Q0 {one} {rank} {99 - rank} new" for query in known.ids for rank, one in enumerate(others[:9], 1)
    ]
    (folder / "new.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _measured(folder: Path, _: Goldbench) -> None:
    write_bench_gold(folder / "gold")
    (folder / "bench.toml").write_text(TWO, encoding="utf-8")


def _foreign(folder: Path, _: Goldbench) -> None:
    write_beir(
        folder / "beir",
        {f"c{number}": f"Passage {number} tells of pump {number}." for number in range(30)},
        {f"q{number}": f"What of pump {number}?" for number in range(9)},
        [(f"q{number}", f"c{number}", 1) for number in range(9)],
    )


def _own(folder: Path, goldbench: Goldbench) -> None:
    _built(folder, goldbench)
    rows = [{"query": "What does the third pump feed?"}, {"query": "Who greases the valve of the tank?"}]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _logged(folder: Path, _: Goldbench) -> None:
    corpus(folder / "docs")
    rows = [{"query": "how often is the valve greased"}] * 3 + [{"query": "which cook repairs the reactor"}]
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


CASES = {
    "apply": Case(("review", "apply", "{}/gold"), _applied, "gold"),
    "rechunk": Case(("rechunk", "{}/gold", "--chunk-size", "250", "--out", "{}/other"), _built, "other"),
    "topup": Case(
        ("topup", "{}/gold", "--run", "new={}/new.trec", "--answers", "{}/answers.sqlite", "--canaries", "0"),
        _graded,
        "gold",
        asks=True,
    ),
    "bench": Case(("bench", "{}/gold", "-c", "{}/bench.toml"), _measured, "gold", by_parts=True),
    "import": Case(("import", "beir", "{}/beir", "--out", "{}/other"), _foreign, "other"),
    "add": Case(("add", "{}/gold", "{}/own.jsonl"), _own, "gold", moments=5),
    "queries-from": Case(
        ("build", "{}/docs", "--out", "{}/other", "--queries-from", "{}/log.jsonl", "--queries", "5"),
        _logged,
        "other",
        moments=7,
    ),
}


@dataclass(slots=True)
class Bench:
    """A command with the folder that it works in, as it was before and as it is after."""

    case: Case
    work: Path
    kept: Path
    command: tuple[str, ...]
    nursery: Nursery
    operations: int
    old: State
    new: State
    steady: frozenset[str]
    """The files that are the same bytes after every run; others hold times."""

    def restore(self) -> None:
        """Put the folder back as it was."""
        for path in self.work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.kept, self.work, dirs_exist_ok=True)

    def check(self) -> bool:
        """Check that the folder is as before or as after, and return which; a reader moves what is half moved."""
        if not self.case.by_parts:
            with contextlib.suppress(InputError):  # no set is there yet
                assert validate(self.work / self.case.made).problems == ()
        state = _state(self.work)
        if self.case.by_parts:
            for name, data in state.items():
                if name in self.steady:
                    assert data in {self.old.get(name), self.new[name]}, name
                elif name.endswith(".json"):
                    json.loads(data)
            assert self.old.keys() <= state.keys() <= self.new.keys()
            return state.keys() == self.new.keys()
        if state == self.old:
            return False
        self.same_as_after(state)
        return True

    def same_as_after(self, state: State) -> None:
        """Check that the folder is as after a run that nothing disturbed."""
        assert state.keys() == self.new.keys()
        changed = [name for name in self.steady if state[name] != self.new[name]]
        assert changed == []

    def again(self) -> None:
        """Run the command once more, and check that it ends as if nothing had disturbed it before."""
        for path in self.work.rglob(".*"):
            os.utime(path, (0, 0))  # as if some time had passed
        ended = self.nursery.run(*self.command)
        assert ended.code == 0, ended.said
        self.same_as_after(_state(self.work))
        left = {path.name for path in self.work.rglob(".*") if not path.name.endswith(".lock")}
        assert left == set(), "something was left beside the set"


def _state(work: Path) -> State:
    return {
        path.relative_to(work).as_posix(): path.read_bytes()
        for path in sorted(work.rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(work).parts)
        and "sqlite" not in path.name
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def ended(
    request: pytest.FixtureRequest, tmp_path: Path, place: Path, goldbench_inside: Goldbench, model_server: ServerHandle
) -> Iterator[Bench]:
    case, kept = CASES[request.param], tmp_path / "kept"
    place.mkdir(exist_ok=True)
    case.prepare(place, goldbench_inside)
    server = ("--base-url", model_server.base_url, "--model", "m") if case.asks else ()
    if case.asks:
        model_server.script(judge={"truth": json.loads((place / "truth.json").read_text(encoding="utf-8"))})
        answers = ("--answers", place / "answers.sqlite", "--canaries", 0, "--depth", 2)
        done = goldbench_inside("grade", place / "gold", *answers, *server)
        assert done.returncode == 0, done.stderr
    command = tuple(word.format(place) for word in case.words) + server
    shutil.copytree(place, kept)
    with Nursery(tmp_path / "nursery", tmp_path, place) as nursery:
        bench = Bench(case, place, kept, command, nursery, 0, _state(place), {}, frozenset())
        bench.operations = nursery.count(*command)
        bench.new = _state(place)
        bench.restore()
        assert nursery.run(*command).code == 0
        second = _state(place)
        bench.steady = frozenset(
            name for name, data in bench.new.items() if second[name] == data and not name.endswith("manifest.json")
        )
        assert bench.steady
        bench.restore()
        yield bench


def _is_plain(ended: Ended) -> bool:
    lines = ended.said.splitlines()
    return "Traceback" not in ended.said and "internal error" not in ended.said and bool(lines)


def _signals(ended: Bench) -> Iterator[tuple[int, signal.Signals]]:
    """Yield writing operations with the signal before each; SIGTERM and SIGINT take turns, as one handler has both."""
    for moment in moments(ended.operations, ended.case.moments):
        yield moment, signal.SIGKILL
    for turn, moment in enumerate(moments(ended.operations, min(MOST, ended.case.moments))):
        yield moment, (signal.SIGTERM, signal.SIGINT)[turn % 2]


@posix
@pytest.mark.slow
@pytest.mark.timeout(580)
@pytest.mark.parametrize("ended", CASES, indirect=True)
def test_a_signal_at_any_moment_leaves_the_old_state_or_the_new_one(ended: Bench, model_server: ServerHandle) -> None:
    seen = set()
    events = events_of(ended.work / "gold") if "apply" in ended.command else []
    for number, (moment, sent) in enumerate(_signals(ended)):
        ended.restore()
        model_server.reset()
        stopped = ended.nursery.run(*ended.command, operation=moment, sent=sent)
        assert stopped.code == (-sent if sent == signal.SIGKILL else 130), (sent, moment, stopped.said)
        if sent != signal.SIGKILL:
            assert _is_plain(stopped), (sent, moment, stopped.said)
            assert stopped.said.splitlines()[-1].startswith("goldbench: interrupted; "), stopped.said
        seen.add(ended.check())
        if events:
            assert events_of(ended.work / "gold") == events
        if number % (2 if sent == signal.SIGKILL else 5) == 0:
            ended.again()
            assert model_server.stats()["repeated"] <= 8, "an answer that was stored is asked again"
    assert False in seen


def _mounted(path: Path) -> bool:
    """Mount a disk of its own at a place, if this user may."""
    if os.geteuid() or not shutil.which("mount"):
        return False
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(place: Path) -> Iterator[Path]:
    if not _mounted(place):
        pytest.skip("this user cannot mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _used(disk: Path) -> int:
    state = os.statvfs(disk)
    return (state.f_blocks - state.f_bfree) * state.f_frsize


@posix
@pytest.mark.slow
@pytest.mark.timeout(580)
@pytest.mark.parametrize("ended", ["apply", "topup", "import", "bench"], indirect=True)
def test_a_full_disk_is_one_line_and_leaves_the_old_state_or_the_new_one(disk: Path, ended: Bench) -> None:
    assert ended.nursery.run(*ended.command).code == 0
    needed = 2 * _used(disk) + (2**23 if ended.case.asks else 0)  # the log of the answers is not emptied at once
    seen = set()
    last = min(SIZES, ended.case.moments) - 1
    for moment in range(last + 1):
        ended.restore()
        room = needed * moment**3 // last**3
        subprocess.run(["mount", "-o", f"remount,size={_used(disk) + room}", str(disk)], check=True)
        stopped = ended.nursery.run(*ended.command)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        complete = ended.check()
        seen.add(complete)
        if stopped.code:
            assert _is_plain(stopped), (room, stopped.said)
            assert stopped.code == 2, (room, stopped.said)
            assert re.search(
                "disk is full|larger than a file may be|no space left|make room on the disk",
                stopped.said.splitlines()[-1],
            ), (room, stopped.said)
        else:
            assert complete
        if moment % 4 == 0:
            ended.again()
    assert seen == {False, True}
