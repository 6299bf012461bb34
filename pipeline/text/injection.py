"""Prompt injection: marker lines that a text in a prompt cannot forge, and sentences that tell a judge how to grade."""

from __future__ import annotations

import hashlib
import unicodedata

import regex

_DISREGARD = (
    r"(?:ignore|disregard|forget|override|skip)\W++(?:\w++\W++){0,6}(?:instruct|rubric|prompt|rule|guideline|criteri)"
    r"|(?:ignorier|missacht|vergiss|vergessen)\w*\W++(?:\w++\W++){0,6}(?:anweisung|regel|vorgabe|anleitung|kriteri)"
    r"|(?:ignor|oubli)(?:e|ez|er)\W++(?:\w++\W++){0,6}(?:instruction|consigne|règle|critère)"
    r"|(?:ignor|olvid)(?:a|e|en|ar)\W++(?:\w++\W++){0,6}(?:instruccion|regla|rúbrica|criterio)"
    r"|(?:игнорир|забуд|не\s+обращай)\w*\W++(?:\w++\W++){0,6}(?:инструкц|указан|правил|критери)"
    r"|ignor(?:a|ate|are|e|em|ar)\W++(?:\w++\W++){0,6}(?:istruzion|regol|criteri|instruç|regra|critéri)"
    r"|negeer\W++(?:\w++\W++){0,6}(?:instructie|aanwijzing|regel|criteri)"
    r"|z?ignoruj\W++(?:\w++\W++){0,6}(?:instrukcj|polece|zasad|kryteri)"
    r"|(?:talimat|yönerge|kural)\w*\W++(?:\w++\W++){0,3}(?:yok\W+say|görmezden|dikkate\W+alma|unut)"
    r"|(?:تجاهل|انس|تجاوز)\w*\W++(?:\w++\W++){0,6}(?:ال)?(?:تعليمات|قواعد|إرشادات|معايير)"
    r"|(?:निर्देश|नियम|मानदंड)\S*\s+(?:\S+\s+){0,3}(?:अनदेखा|अनदेखी|नज़रअंदाज़|भूल|उपेक्षा)"
    r"|(?:指示|命令|ルール|規則|基準).{0,8}(?:無視|忘れ)"
    r"|(?:지시|명령|규칙|기준|지침).{0,8}(?:무시|잊)"
    r"|(?:忽略|无视|無視|忘记|不要理会).{0,12}(?:指令|指示|说明|說明|提示|规则|規則|标准|標準)"
)
_VERDICT = (
    r"(?:grade|score|rate|mark|judge|label)\W++(?:\w++\W++){0,4}(?:passage|document|text|chunk|this|it)\W++(?:\w++\W++){0,4}"
    r"(?:[0-3](?!\p{N})|three|highest|maximum|top|perfect\w*|(?:ir)?relevant)"
    r"|(?:passage|document|text|chunk)\W+(?:is|must\W+be|should\W+be)\W++(?:\w++\W++){0,3}"
    r"(?:perfectly|highly|fully|extremely|completely|totally|most)\W+relevant"
    r"|(?:give|assign|award|return|output|answer|reply)\w*\W++(?:\w++\W++){0,6}(?:grade|score|rating)\W++(?:\w++\W++){0,3}[0-3](?!\p{N})"
    r"|relevance\W+(?:grade|score|rating|label)\W++(?:\w++\W++){0,3}[0-3](?!\p{N})"
    r"|(?:dieser|der)\W+(?:text|abschnitt|absatz)\W+ist\W++(?:\w++\W++){0,3}(?:vollkommen|absolut|höchst|perfekt)\W+relevant"
    r"|ce\W+(?:passage|texte|document)\W+est\W++(?:\w++\W++){0,3}(?:parfaitement|totalement|très)\W+pertinent"
    r"|este\W+(?:pasaje|texto|documento)\W+es\W++(?:\w++\W++){0,3}(?:perfectamente|totalmente|muy)\W+relevante"
    r"|(?:本段|本文|该段|此段|这段).{0,10}(?:完全|高度|非常|极其|最)相关"
    r"|(?:评为|打|给|评).{0,6}(?:[3三]|最高|满)分"
)
_MARKERS = r"<<<\s*(?:END|PASSAGE|QUERY)\b"
_HIDDEN = regex.compile(r"\p{Cf}")
"""Characters that show nothing, and would part a word unseen."""
_TELLING = regex.compile(f"(?:{_DISREGARD}|{_VERDICT}|{_MARKERS})", regex.IGNORECASE)


def tells_how_to_judge(text: str) -> bool:
    """Whether a text holds a sentence that is addressed to a judge: which grade to give, or which rules to forget.

    It errs both ways, as any list of phrasings does; it may draw attention to a pair, but it grades none.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return any(_TELLING.search(form) is not None for form in dict.fromkeys((text, plain)))


def delimiter(*texts: str) -> str:
    """Return a marker of 16 hexadecimal digits that depends on every character, so that no text can close it."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")  # texts of others may hold half characters
    return hashlib.blake2b(joined, digest_size=8, person=b"delimiter").hexdigest()
