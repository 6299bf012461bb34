"""What five commands print fits 80 and 120 columns, a dumb terminal and a pipe, and holds every number.

``WRITE_PRINTED=1`` writes the files of ``printed`` anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from goldbench.report.text_tables import described, fitted, folded
from tests.cli.sample_set import LONG, WIDE, write_sample
from tests.conftest import IMPORT_PATH, Goldbench, posix

PRINTED = Path(__file__).parent / "printed"
RUNS = ("--run", "a=a.trec", "--run", f"{WIDE}=b.trec", "--run", f"{LONG}=c.trec")
COMMANDS: dict[str, tuple[str, ...]] = {
    "score": ("score", "gold", *RUNS),
    "compare": ("compare", "gold", *RUNS, "--permutations", "200", "--resamples", "200"),
    "agreement": ("agreement", "people.txt", "model.txt", "--resamples", "100"),
    "bench": ("bench", "gold", "--system", "bm25", "--system", "ngrams", "--out", "bench"),
    "card": ("card", "gold", "--no-write"),
}
FORMS = {"80": "80", "120": "120", "piped": ""}
"""COLUMNS by form; empty for a pipe."""

SLOW = {"bench", "card"}


def cases() -> Iterator[Any]:
    for command in COMMANDS:
        for form in FORMS:
            marks = [pytest.mark.slow] if command in SLOW else []
            yield pytest.param(command, form, marks=marks, id=f"{command}-{form}")


def without_times(command: str, text: str) -> str:
    """Return what a command printed with TIME in place of each time that bench measured."""
    if command != "bench":
        return text
    lines = text.split("\n")
    first = next((position for position, line in enumerate(lines) if line.endswith("p50 ms")), None)
    if first is not None:
        for number in range(first + 1, first + 3):
            lines[number] = re.sub(r" +[\d.,]+$", "  TIME", lines[number])
        lines[first] = re.sub(r" +p50 ms$", "  p50 ms", lines[first])
    return "\n".join(lines)


def numbers(command: str, found: Any) -> Iterator[str]:
    """Yield every number of the measures that a command shows by default, as it is printed."""
    main = re.compile(r"(hit|r|mrr|ndcg|judged)(\(.*\))?@10$")
    if command == "score":
        for run in found["runs"].values():
            yield from (f"{mean:.4f}" for name, mean in run["means"].items() if main.match(name))
            yield str(run["counts"]["queries"])
    elif command in {"compare", "bench"}:
        card = found if command == "compare" else found["experiment"]["card"]
        for system in card["systems"]:
            shown = [name for name in system["scores"] if main.match(name)]
            yield from (f"{system['scores'][name]['mean']:.4f}" for name in shown)
            if command == "compare":
                ends = (system["scores"][name][end] for name in shown for end in ("low", "high"))
                yield from (f"{end:.4f}" for end in ends)
            yield from (f"{share:.4f}" for share in system["judged"].values())
        for one in card["comparisons"]:
            if command == "compare" or one["measure"] == card["measures"][0]:
                yield from (f"{one[key]:+.4f}" for key in ("difference", "low", "high"))
    elif command == "agreement":
        for name in ("exact", "kappa_quadratic", "kappa_binary", "bias"):
            yield from (f"{found['overall'][name][key]:.3f}" for key in ("value", "low", "high"))
    else:
        for one in found["figures"]:
            if one["state"] in {"warn", "fail"} and isinstance(one["value"], int):
                yield f"{one['value']:,}"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    write_sample(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(("command", "form"), list(cases()))
def test_what_is_printed_is_the_golden_file_and_holds_every_number(
    goldbench_inside: Goldbench, command: str, form: str
) -> None:
    done = goldbench_inside(*COMMANDS[command], COLUMNS=FORMS[form])
    assert done.returncode == 0, done.stderr
    printed = without_times(command, done.stdout)
    golden = PRINTED / f"{command}-{form}.txt"
    if os.environ.get("WRITE_PRINTED"):
        golden.write_text(printed, encoding="utf-8")
    assert printed == golden.read_text(encoding="utf-8")
    assert "…" not in printed
    assert "\x1b" not in done.stdout
    if FORMS[form]:
        assert max(map(cell_len, done.stdout.splitlines())) <= int(form)
    found = json.loads(goldbench_inside(*COMMANDS[command], "--json").stdout)
    words = set(re.sub(r"[\[\],;:()]", " ", printed.replace("bench-", "")).split())
    assert [number for number in numbers(command, found) if number not in words] == []


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("command", ["score", "compare", "agreement"])
def test_the_same_words_and_numbers_are_in_every_form(goldbench_inside: Goldbench, command: str) -> None:
    said = {form: goldbench_inside(*COMMANDS[command], COLUMNS=FORMS[form]).stdout.split() for form in FORMS}
    joined = {form: " ".join(words) for form, words in said.items()}
    numbers = {form: set(re.findall(r"[-+]?\d+\.\d+", text)) for form, text in joined.items()}
    assert numbers["80"] == numbers["120"] == numbers["piped"]


@posix
@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_dumb_terminal_shows_what_80_columns_show(sample: Path, command: str) -> None:
    times = without_times(command, at_a_terminal(sample, COMMANDS[command], TERM="dumb", columns=80))
    golden = (PRINTED / f"{command}-80.txt").read_text(encoding="utf-8")
    assert "\x1b" not in times
    assert [line for line in golden.splitlines() if "TIME" not in line and line not in times] == []


@posix
def test_colours_are_for_terminals_that_show_them(sample: Path) -> None:
    failing = ("gate", "gold", "--run", "a.trec", "--min", "ndcg@10=0.9")
    assert "\x1b[31mFAILED" in at_a_terminal(sample, failing, code=1, TERM="xterm", columns=80)
    assert "\x1b" not in at_a_terminal(sample, failing, code=1, TERM="xterm", columns=80, NO_COLOR="1")
    assert "\x1b" not in at_a_terminal(sample, failing, code=1, TERM="dumb", columns=80)


def at_a_terminal(folder: Path, command: tuple[str, ...], *, columns: int, code: int = 0, **environment: str) -> str:
    """Run a command at a pseudo terminal, and return what it printed on both streams."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "goldbench", *command],
        cwd=folder,
        env={**kept, "PYTHONPATH": IMPORT_PATH, "PYTHONUTF8": "1", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert process.wait(timeout=60) == code
    return b"".join(parts).decode("utf-8").replace("\r\n", "\n")


class TestLayout:
    """Tables and sentences that fit, whatever is in them."""

    rows = (("run", "ndcg@10", "mrr@10", "r@10"), (LONG, "0.1234", "0.2345", "0.3456"), (WIDE, "1.0000", "0.0000", "-"))

    @pytest.mark.parametrize("width", [40, 60, 80, None])
    def test_no_cell_is_lost_and_no_line_is_too_wide(self, width: int | None) -> None:
        lines = list(fitted(self.rows, width))
        if width is not None:
            assert max(map(cell_len, lines)) <= width
        told = re.sub(r"\s", "", "".join(lines))
        for row in self.rows:
            assert all(cell in told for cell in row[1:])
        assert LONG in "".join(line.partition("  ")[0].strip() for line in lines)

    def test_wide_characters_count_two_columns(self) -> None:
        lines = list(fitted(self.rows, None))
        ends = {cell_len(line) for line in lines}
        assert len(ends) == 1

    def test_prose_stands_beside_its_figure_or_below_it(self) -> None:
        rows = [("warn", "queries: 46", "The smallest difference says what they show, and more is better.")]
        beside, below = list(described(rows, 60)), list(described(rows, 34))
        assert beside[0].startswith("warn   queries: 46  The smallest")
        assert beside[1].startswith(" " * 20)
        assert below[0] == "warn   queries: 46"
        assert max(map(len, below)) <= 34

    def test_a_command_is_not_broken_over_two_lines(self) -> None:
        text = "Worst for bm25 by ndcg@10: q1, q2, q3 (goldbench open runs/mine --query q1)"
        assert folded(text, 60)[-1] == "(goldbench open runs/mine --query q1)"
        assert " ".join(folded(text, 60)) == text

    def test_a_command_to_copy_stays_on_one_line_however_long_it_is(self) -> None:
        command = f"goldbench build docs --out runs/{'long-' * 20} --config goldbench.toml"
        told = folded("Made by `goldbench review apply`. Content `d704847b51d8`. 55 queries.", 60)
        assert told == ["Made by `goldbench review apply`. Content `d704847b51d8`. 55", "queries."]
        assert folded(f"  {command}", 80) == [f"  {command}"]
        lines = folded(f"Next: {command} (a model), or {command} (people)", 80)
        assert lines == ["Next:", command, "(a model), or", command, "(people)"]

    def test_a_sentence_in_chinese_is_folded_between_characters(self) -> None:
        lines = folded("电源灯红闪表示水箱缺水请加水后再试一次", 20)
        assert "".join(lines) == "电源灯红闪表示水箱缺水请加水后再试一次"
        assert max(map(cell_len, lines)) <= 20
