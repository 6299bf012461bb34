"""Every rule that leaves a query out has words."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from goldbench.generate.attempts import ANSWERED, MOMENT, SELF_CONTAINED
from goldbench.generate.drawn_queries import LIMIT
from goldbench.generate.level_shares import DIFFICULTY
from goldbench.goldset.projection import NOT_PROJECTED
from goldbench.grade.outcome import JUDGE_CHECK, UNJUDGED
from goldbench.review.decisions import BAD, REJECTED, UNANSWERED
from goldbench.stages.check import ENOUGH
from goldbench.workbench.rule_words import RULES, rule_in_words
from tests.conftest import ROOT

NAMED = {DIFFICULTY, ANSWERED, MOMENT, SELF_CONTAINED, NOT_PROJECTED, JUDGE_CHECK, UNJUDGED, ENOUGH}
NAMED |= {BAD, REJECTED, UNANSWERED, "skipped"}


def spelled() -> set[str]:
    """The rules that stand as text in a call of Finding or Rejection."""
    found = set()
    for path in [
        *(ROOT / "pipeline" / "goldbench" / "stages").rglob("*.py"),
        *(ROOT / "pipeline" / "goldbench" / "generate").glob("*.py"),
    ]:
        if path.name == "diagnosis.py":  # its findings are of the configuration
            continue
        found |= set(_rules(path))
    return found


def _rules(path: Path) -> list[str]:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in {"Finding", "Rejection"}]
    given = [one for node in named for one in (*node.args[:1], *(k.value for k in node.keywords if k.arg == "filter"))]
    return [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def test_every_rule_of_the_code_has_words() -> None:
    rules = spelled()
    assert {"deixis", "duplicate", "surplus"} <= rules
    assert (rules | NAMED) - RULES.keys() == set()
    assert LIMIT not in RULES  # a limit fails an item, it rejects no query


@pytest.mark.parametrize("words", RULES.values())
def test_words_are_a_sentence(words: str) -> None:
    assert words[0].isupper()
    assert words.endswith(".")


def test_a_critic_is_named_and_an_unknown_rule_stays_as_it_is() -> None:
    assert rule_in_words("critic-stand-alone") == "A critic model scored it too low: stand alone."
    assert rule_in_words("of-tomorrow") == "of-tomorrow"
