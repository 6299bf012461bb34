"""Sentences that tell a judge how to judge, in the languages such attempts are written in most."""

from __future__ import annotations

import regex

_DISREGARD = (
    r"(?:ignore|disregard|forget|override|skip)\W+(?:\w+\W+){0,6}(?:instruct|rubric|prompt|rule|guideline|criteri)"
    r"|(?:ignorier|missacht|vergiss|vergessen)\w*\W+(?:\w+\W+){0,6}(?:anweisung|regel|vorgabe|anleitung|kriteri)"
    r"|(?:ignor|oubli)(?:e|ez|er)\W+(?:\w+\W+){0,6}(?:instruction|consigne|règle|critère)"
    r"|(?:ignor|olvid)(?:a|e|en|ar)\W+(?:\w+\W+){0,6}(?:instruccion|regla|rúbrica|criterio)"
    r"|(?:игнорир|забуд|не\s+обращай)\w*\W+(?:\w+\W+){0,6}(?:инструкц|указан|правил|критери)"
    r"|(?:忽略|无视|無視|忘记|不要理会).{0,12}(?:指令|指示|说明|說明|提示|规则|規則|标准|標準)"
)
_VERDICT = (
    r"(?:grade|score|rate|mark|judge|label)\W+(?:\w+\W+){0,4}(?:passage|document|text|chunk|this|it)\W+(?:\w+\W+){0,4}"
    r"(?:[0-3](?!\p{N})|three|highest|maximum|top|perfect\w*|(?:ir)?relevant)"
    r"|(?:passage|document|text|chunk)\W+(?:is|must\W+be|should\W+be)\W+(?:\w+\W+){0,3}"
    r"(?:perfectly|highly|fully|extremely|completely|totally|most)\W+relevant"
    r"|(?:give|assign|award|return|output|answer|reply)\w*\W+(?:\w+\W+){0,6}(?:grade|score|rating)\W+(?:\w+\W+){0,3}[0-3](?!\p{N})"
    r"|relevance\W+(?:grade|score|rating|label)\W+(?:\w+\W+){0,3}[0-3](?!\p{N})"
    r"|(?:dieser|der)\W+(?:text|abschnitt|absatz)\W+ist\W+(?:\w+\W+){0,3}(?:vollkommen|absolut|höchst|perfekt)\W+relevant"
    r"|ce\W+(?:passage|texte|document)\W+est\W+(?:\w+\W+){0,3}(?:parfaitement|totalement|très)\W+pertinent"
    r"|este\W+(?:pasaje|texto|documento)\W+es\W+(?:\w+\W+){0,3}(?:perfectamente|totalmente|muy)\W+relevante"
    r"|(?:本段|本文|该段|此段|这段).{0,10}(?:完全|高度|非常|极其|最)相关"
    r"|(?:评为|打|给|评).{0,6}(?:[3三]|最高|满)分"
)
_MARKERS = r"<<<\s*(?:END|PASSAGE|QUERY)\b"
_TELLING = regex.compile(f"(?:{_DISREGARD}|{_VERDICT}|{_MARKERS})", regex.IGNORECASE)


def tells_how_to_judge(text: str) -> bool:
    """Whether a text holds a sentence that is addressed to a judge: which grade to give, or which rules to forget.

    It errs both ways, as any list of phrasings does; it may draw attention to a pair, but it grades none.
    """
    return _TELLING.search(text) is not None
