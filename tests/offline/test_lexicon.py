"""Words of scripts without spaces, found in the corpus."""

from __future__ import annotations

import random

from goldbench.offline.lexicon import Lexicon


def test_words_are_found_where_nothing_but_their_repetition_marks_them() -> None:
    lexicon_words = ["甲乙", "丙丁", "戊己庚", "辛壬", "癸子丑"]
    source = random.Random(3)
    runs = ["".join(source.choices(lexicon_words, k=8)) for _ in range(200)]
    lexicon = Lexicon(runs)
    run = "戊己庚甲乙癸子丑辛壬"
    assert [run[start:end] for start, end in lexicon.cut(run)] == ["戊己庚", "甲乙", "癸子丑", "辛壬"]


def test_a_cut_covers_the_run_without_gaps() -> None:
    lexicon = Lexicon(["ประเทศไทย", "ประเทศจีน", "ไทย"])
    run = "ประเทศไทยและจีน"
    spans = lexicon.cut(run)
    assert "".join(run[start:end] for start, end in spans) == run
    assert all(start < end for start, end in spans)
