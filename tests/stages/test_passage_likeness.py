"""Pairs of passages are near-duplicates by the one rule, whatever is remembered of them."""

from __future__ import annotations

import random

import pytest

from goldbench.stages.select import passage_likeness
from goldbench.stages.select.near_duplicates import are_alike
from goldbench.stages.select.passage_likeness import PassageLikeness

CHINESE = "水泵在星期二维修工程师检查阀门并清洗过滤器然后记录压力与温度最后通知值班人员"


def variants(seed: int) -> dict[str, str]:
    """Return texts of which some differ in a few words or characters, and an empty one."""
    chance = random.Random(seed)
    words = [f"word{number}" for number in range(60)]
    texts = {"empty": "", "zh": CHINESE * 3, "zh-near": CHINESE * 3 + "。", "zh-far": CHINESE[::-1]}
    for number in range(12):
        changed = [f"other{number}" if chance.random() < number / 60 else word for word in words]
        texts[f"w{number}"] = " ".join(changed)
    return texts


@pytest.mark.parametrize("kept", [1 << 22, 100])
def test_every_pair_is_judged_as_the_texts_are(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(passage_likeness, "_KEPT", kept)
    texts = variants(3)
    likeness = PassageLikeness(texts)
    found = {(one, other): likeness.are_alike(one, other) for one in texts for other in texts}
    assert found == {(one, other): are_alike(texts[one], texts[other]) for one, other in found}
    assert {found["w0", "w1"], found["w0", "w11"], found["zh", "zh-near"], found["zh", "zh-far"]} == {True, False}
    assert found["zh", "zh-near"]


def test_a_passage_without_a_text_is_like_no_other() -> None:
    assert not PassageLikeness({"one": "the pump"}).are_alike("one", "two")
