"""Good answers: what a careful model would reply to the project's own prompts, and a filler for any other schema."""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from typing import Any

_TOKEN = re.compile(r"[0-9a-fA-F]{8,}")
_SENTENCE = re.compile(r"[^\s.!?。！？؟।\n][^.!?。！？؟।\n]*[.!?。！？؟।]?")
_WORD = re.compile(r"[^\W\d_]{4,}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]{2,}")
_KINDS = ("fact", "definition", "procedure", "reason", "comparison", "condition", "summary")
_STYLES = ("question", "keywords", "problem", "vague")

_FRAMES = (
    "How does {a} change {b} when {x} and {y} matter?",
    "What should someone planning {x} know about {a} and {b} for {y}?",
    "Why would {a} depend on {b} during {x} or {y}?",
    "Which {x} is right for {a} if {b} needs {y}?",
    "Can {a} help a newcomer handle {b} under {x} and {y}?",
    "When do people with {x} rely on {a} for {b} and {y}?",
)
_FILLERS = """
budgets weekends teenagers landlords winters freelancers travellers migrations outages audits renovations
holidays beginners retirees emergencies overtime insurance franchises allergies humidity vibration deadlines
subscriptions warranties inheritance suppliers contractors volunteers expeditions quarantines blackouts refunds
mortgages tournaments harvests droughts earthquakes commuters apprentices grandparents
""".split()  # noqa: SIM905 - a list of forty strings reads worse
_HAN_FRAMES = ("{a}怎样影响{b}", "为何{a}需要{b}", "{a}与{b}有何差别", "如何用{a}改善{b}", "{a}何时优于{b}")
_STOP = frozenset(
    """
this that these those with from have been were they their there which while where when what will would could should
about after before above below under over into than then them some such only also more most other each here your does
very between because through during following mentioned passage section text table figure chapter
""".split()  # noqa: SIM905 - as above
)


def good_answer(schema: dict[str, Any], system: str, user: str) -> Any:
    """Return a plausible good answer: for the generation schema a real one, for any other a value that fits."""
    properties = schema.get("properties", {})
    if "candidates" in properties:
        return _queries(system + "\n" + user, passage_in(user))
    return fill(schema, schema, seed=_number(user))


def passage_in(prompt: str) -> str:
    """Return the text between the two delimiter lines: those that repeat one hexadecimal token, farthest apart."""
    places: dict[str, list[re.Match[str]]] = {}
    for match in _TOKEN.finditer(prompt):
        places.setdefault(match.group(), []).append(match)
    best = ""
    for matches in places.values():
        for first, second in itertools.pairwise(matches):
            start, end = prompt.find("\n", first.end()), prompt.rfind("\n", 0, second.start())
            if 0 <= start < end and end - start > len(best):
                best = prompt[start + 1 : end]
    return best.strip() or prompt


def _number(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()[:8], "big")


def _asked(prompt: str, name: str, allowed: tuple[str, ...]) -> str:
    found = re.findall(rf"\b{name}(?: wanted)?\W{{1,12}}({'|'.join(allowed)})\b", prompt, re.IGNORECASE)
    return found[-1].lower() if found else allowed[0]


def _queries(prompt: str, passage: str) -> dict[str, Any]:
    sentences = [m.group().strip() for m in _SENTENCE.finditer(passage) if len(m.group().strip()) >= 12]
    usable = [s for s in sentences if len(s) <= 400] or [s[:400].strip() for s in sentences]
    if not usable:
        return {"skip_reason": "the text has no sentence to ask about", "candidates": []}
    chance = random.Random(_number(passage))
    evidence = max(usable, key=lambda s: (min(len(s), 200), s))
    style = _asked(prompt, "style", _STYLES)
    if len(_HAN.findall(evidence)) * 2 >= len(re.findall(r"\w", evidence)):
        a, b = _han_pieces(passage, chance)
        query = chance.choice(_HAN_FRAMES).format(a=a, b=b)
    else:
        a, b = _two_words(evidence, passage, chance)
        x, y = chance.sample([word for word in _FILLERS if word not in passage], 2)
        query = f"{a} {x} {b} {y}" if style == "keywords" else chance.choice(_FRAMES).format(a=a, b=b, x=x, y=y)
    candidate = {
        "query": query,
        "type": _asked(prompt, "type", _KINDS),
        "style": style,
        "answer": " ".join(evidence.split()[:30])[:300],
        "evidence": evidence,
        "subject": a,
    }
    return {"skip_reason": None, "candidates": [candidate]}


def _two_words(evidence: str, passage: str, chance: random.Random) -> tuple[str, str]:
    for source in (evidence, passage):
        found = sorted({w for w in _WORD.findall(source) if w.lower() not in _STOP})
        if len(found) >= 2:
            chance.shuffle(found)
            return found[0], found[1]
    return "planning", f"item {_number(passage) % 10**6}"


def _han_pieces(passage: str, chance: random.Random) -> tuple[str, str]:
    runs = [run for run in _HAN_RUN.findall(passage) if not set(run[:3]) & set("这那根据依的了和是在其")] or ["资料"]
    first, second = chance.choice(runs), chance.choice(runs)
    return first[:3], second[-3:] if second != first else second[-2:]


def fill(schema: dict[str, Any], root: dict[str, Any], seed: int = 0) -> Any:
    """Return a value of the schema: first of every choice, shortest list and string that are allowed."""
    if "$ref" in schema:
        return fill(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, seed)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return fill(schema[key][0], root, seed)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: fill(part, root, seed) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [fill(schema.get("items", {}), root, seed) for _ in range(schema.get("minItems", 1))]
    if kind == "string":
        low, high = _limits(schema, 0, 200)
        return f"reply {seed % 10**9:09d}".ljust(low, ".")[:high]
    if kind in ("integer", "number"):
        low, high = _limits(schema, 0, 9)
        return low + seed % (high - low + 1)
    return kind == "boolean" or None


def _limits(schema: dict[str, Any], low: int, high: int) -> tuple[int, int]:
    """Return the limits of a size or number: from the schema's keywords, else from its description, in words."""
    said = schema.get("description", "")
    least, most = re.search(r"at least (\d+)", said), re.search(r"at most (\d+)", said)
    low = int(schema.get("minimum", schema.get("minLength", least.group(1) if least else low)))
    high = int(schema.get("maximum", schema.get("maxLength", most.group(1) if most else max(high, low))))
    return low, high
