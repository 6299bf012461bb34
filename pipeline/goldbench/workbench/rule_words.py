"""Why a query is not in the set, in words: the rules of checks, grading and review."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "schema": "It is not a usable query.",
    "length": "It is shorter or longer than the settings allow.",
    "constraints": "It breaks a rule of the settings, such as a banned word.",
    "language": "It is not in the language that was asked for.",
    "evidence": "The words that should answer it do not stand in the passage.",
    "deixis": "It points at something that its reader cannot see.",
    "answer-leak": "It gives its own answer away.",
    "refusal": "The model declined to write a query.",
    "placeholder": "Something else should stand for a part of it.",
    "instruction": "It gives a model an order, or begins to follow one.",
    "no-answer": "Its answer says that there is none.",
    "answer-tie": "Its answer does not come from the words that should answer it.",
    "nothing-asked": "It says all that its passage would answer.",
    "no-cause": "It asks for a reason that its passage does not give.",
    "off-topic": "It is about something else than its passage.",
    "no-subject": "It does not name what it is about.",
    "yes-no-quota": "Enough queries are answered by yes or no.",
    "copied-run": "It copies too many words in a row from the passage.",
    "unlikely": "The model was unsure of its words.",
    "overlap": "All its words that matter stand in the passage.",
    "duplicate": "It is almost the same as an earlier query.",
    "overlap-quota": "Enough queries already share most of their words with their passage.",
    "held-out": "Words that it needs are held out of the corpus for another query.",
    "history": "The turns of its conversation do not fit.",
    "self-contained": "Its last question can be understood without the earlier ones.",
    "moment": "It does not name the date or version that tells its passage from others.",
    "one-passage-enough": "One passage answers it, although several should be needed.",
    "answered": "A passage answers it, although nothing in the corpus should.",
    "difficulty": "It is easier or harder than what was asked for.",
    "kind-quota": "There are enough queries of its kind.",
    "surplus": "The wanted number of queries was already reached.",
    "skipped": "No query was proposed for the passage.",
    "foreign-language": "The model does not know the language of the passage.",
    "not-projected": "Its evidence could not be found again in the new passages.",
    "judge-check": "The judge found no passage that answers it.",
    "unjudged": "Its source is not judged yet, or no relevant passage is known and part of its pool is not judged.",
    "rejected": "A person rejected it.",
    "bad-query": "A person reported it as a bad query.",
    "unanswered": "People found no passage that answers it.",
    "retired": "Its documents changed or are gone.",
}


def rule_in_words(rule: str) -> str:
    """Return what a rule means, as one sentence.

    Args:
        rule: The name of the rule in the files of a set; an unknown one is returned as it is.
    """
    if rule.startswith("critic-"):
        return f"A critic model scored it too low: {rule.removeprefix('critic-').replace('-', ' ')}."
    return RULES.get(rule, rule)
