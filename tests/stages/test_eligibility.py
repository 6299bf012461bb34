"""Which chunks are worth a question."""

from pathlib import Path

import pytest

from goldbench.records.corpus import Document
from goldbench.stages.chunk import chunk_documents
from goldbench.stages.select import READY, Limits
from goldbench.stages.select.eligibility import RULES, fault

PROSE = (
    "The pump stops when the water in the tank falls below the lower mark, because running dry would ruin its seal. "
    "Fill the tank to the upper mark, wait for two minutes, and press the green switch to start it again. "
    "If it does not start, look at the fuse behind the cover."
)
CHINESE = (
    "水箱中的水位低于下限时，水泵会自动停止，因为无水运转会损坏密封圈。"
    "请先把水加到上限，等待两分钟，然后按下绿色开关重新启动。如果仍然不能启动，请检查盖板后面的保险丝是否正常。"
)
THAI = (
    "เมื่อน้ำในถังลดลงต่ำกว่าขีดล่าง ปั๊มน้ำจะหยุดทำงานโดยอัตโนมัติ "
    "เพราะการทำงานโดยไม่มีน้ำจะทำให้ซีลเสียหาย ให้เติมน้ำจนถึงขีดบน รอสองนาที แล้วกดสวิตช์สีเขียวเพื่อเริ่มใหม่"
)
MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in the "
    "Software without restriction, subject to the following conditions: the above copyright notice shall be included "
    "in all copies. The software is provided “as is”, without warranty of any kind, express or implied. In no event "
    "shall the authors be liable for any claim or damages."
)
CASES = {
    "too-short": "Pump. See above. It is good.",
    "too-long": PROSE * 40,
    "few-letters": "Measured values of the first run: " + "12.5 | 13.8 | 14.25 | 99.1 | " * 12 + "a b c d e f g " * 3,
    "contents-list": "Contents\n"
    + "".join(f"{n}. About the pump and its parts ........ {n * 7}\n" for n in range(1, 12)),
    "link-list": "\n".join(
        f"- [Start the pump of model {n}](https://example.org/handbook/pump/{n}/start)" for n in range(12)
    ),
    "navigation": "\n".join(["Home", "Products", "Pumps and seals", "Support", "Contact us", "Imprint", "Jobs"] * 5),
    "licence": MIT,
    "no-sentence": " \n\n".join(["the green pump beside that old blue tank of ours"] * 6),
}


@pytest.mark.parametrize("text", [PROSE, CHINESE, THAI], ids=["English", "Chinese", "Thai"])
def test_a_paragraph_that_says_something_is_eligible(text: str) -> None:
    assert fault(text, Limits()) is None


@pytest.mark.parametrize("name", CASES)
def test_each_rule_turns_down_its_own_case(name: str) -> None:
    limits = Limits(max_characters=5000)
    assert fault(CASES[name], limits) == name


def test_every_rule_has_a_case() -> None:
    assert list(CASES) == [name for name, _ in RULES]


@pytest.mark.parametrize(
    "text",
    [
        PROSE + " © 2024 Pump Works. All rights reserved.",
        "See [the handbook](https://example.org/handbook) for more. " + PROSE,
        "\n".join(f"{n}. {sentence}." for n, sentence in enumerate(PROSE.split(". "), 1)),
        "- " + PROSE.replace(". ", ".\n- "),
    ],
    ids=["footer", "a link", "numbered steps", "bullets"],
)
def test_what_only_looks_like_a_list_or_a_licence_is_eligible(text: str) -> None:
    assert fault(text, Limits()) is None


@pytest.mark.parametrize(("text", "unit"), [("word " * 39 + "end.", "words"), ("水" * 63 + "。", "characters")])
def test_the_least_is_forty_words_or_sixty_four_characters(text: str, unit: str) -> None:
    shorter = text[5:] if unit == "words" else text
    assert fault(shorter, Limits()) == "too-short"
    assert fault("more " + text if unit == "words" else "水" + text, Limits()) is None


def test_rows_that_came_ready_may_be_shorter() -> None:
    assert fault("The pump stops when the tank is empty, so fill it.", READY) is None
    assert fault("水箱里没有水的时候水泵会自动停下来，请加水。", READY) is None
    assert fault("See the next page.", READY) == "too-short"


@pytest.mark.parametrize("text", ["", "-" * 500, "👍" * 100])
def test_what_holds_no_word_is_too_short(text: str) -> None:
    assert fault(text, READY) == "too-short"


def test_a_books_contents_and_licence_are_turned_down_and_its_story_is_not(collections: Path) -> None:
    text = (collections / "war_and_peace" / "2600-0.txt").read_text(encoding="utf-8")
    chunks = chunk_documents([Document(doc_id="w", title="", text=text, source="w.txt")])
    faults = [fault(chunk.text, Limits()) for chunk in chunks]
    assert set(faults[1:9]) == {"contents-list"}
    licence = [position for position, name in enumerate(faults) if name == "licence"]
    assert len(licence) >= 12
    assert min(licence) > 4310
    assert {name for name in faults[9:4310] if name} == {"too-short"}
