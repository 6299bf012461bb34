"""Keyed random draws: fair, repeatable and consistent."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from goldbench.text.draws import Draws


def test_a_draw_is_the_same_in_another_process() -> None:
    code = """if True:
        from goldbench.text.draws import Draws
        print(Draws(1, "é").race("x", {"a": 1.0, "b": 2.0, "c": 3.0}, 2))"""
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == str(Draws(1, "é").race("x", {"a": 1.0, "b": 2.0, "c": 3.0}, 2))


def test_a_race_is_won_in_proportion_to_the_weights() -> None:
    wins = Counter(Draws(number).race("x", {"a": 1.0, "b": 3.0}, 1)[0] for number in range(4000))
    assert wins["b"] / 4000 == pytest.approx(0.75, abs=0.03)


def test_a_newcomer_takes_only_its_own_share_of_the_races() -> None:
    weights = {str(number): 1.0 for number in range(30)}
    changed = sum(
        Draws(number).race("x", weights, 1) != Draws(number).race("x", {**weights, "new": 1.0}, 1)
        for number in range(1000)
    )
    assert changed / 1000 == pytest.approx(1 / 31, abs=0.015)
