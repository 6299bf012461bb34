"""Words that a query and a passage share, as they stand in the passage."""

from __future__ import annotations

from goldbench.text.matched_words import matched_forms, shares_words


def test_forms_of_a_word_are_found_by_its_stem() -> None:
    found = matched_forms("When is the pump repaired?", ["Pumps are REPAIRED here.", "A repair of pumps."], "en")
    assert found == [["pumps"], ["repair", "repaired"]]


def test_a_word_that_is_nowhere_has_no_form() -> None:
    assert matched_forms("green pump", ["The pump."], "en") == [[], ["pump"]]


def test_chinese_words_are_pairs_of_characters() -> None:
    assert ["水泵"] in matched_forms("水泵什么时候维修", ["水泵在星期二维修"], "zh")


def test_capital_letters_that_fold_to_several_stand_as_they_are_written() -> None:
    found = matched_forms("die Größe", ["Die Größe ist unbekannt."], "de")
    assert found == [["größe"]]


def test_a_query_without_words_that_carry_meaning_shares_all_it_has() -> None:
    assert shares_words("what is the", "anything", "en")
    assert not shares_words("green lamp", "anything", "en")
