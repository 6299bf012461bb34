"""A scorecard and its details whose every text is hostile."""

from __future__ import annotations

from goldbench.measures.ranks.failure_causes import Cause
from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.comparison import scorecard
from goldbench.measures.statistics.slices import Part, Slicing
from goldbench.records.scorecard import GoldReference, Method, Score, Scorecard
from goldbench.report.charts import Points
from goldbench.report.failure_browser import Behind, Found, Reason
from goldbench.report.scorecard_page import Details

SCRIPT = "<script>window.broken=1</script>"
IMAGE = "<img src=x onerror='window.broken=1'>"
ENDINGS = "</script></style></textarea>--><!-- ]]> \u2028 {{ 7*7 }} ${7*7} &lt;b&gt;"
SYSTEMS = (f"A <b>bold</b> &amp; {SCRIPT}", f"B {IMAGE} | `x`")
QUERIES = [f"q{number:02}{SCRIPT if number == 3 else ''}" for number in range(30)]


def hostile_card() -> Scorecard:
    def result(level: float) -> Result:
        counts = Counts(queries=len(QUERIES), missing=1, extra=0, no_relevant=0, tied=2, holes=3)
        values = [level * (number % 7) / 6 for number in range(len(QUERIES))]
        return Result(QUERIES, {"ndcg@10": values, "judged@10": [0.5] * len(QUERIES)}, counts)

    return scorecard(
        {SYSTEMS[0]: result(0.9), SYSTEMS[1]: result(0.5)},
        ["ndcg@10"],
        judged="judged@10",
        gold=GoldReference(name=f"gold {SCRIPT}", sha256="0" * 64, queries=len(QUERIES)),
        method=Method(missing="zero", scores="float64", permutations=200, resamples=200),
        goldbench="0",
    )


def hostile_details() -> Details:
    texts = [SCRIPT, IMAGE, ENDINGS, "\x00\x1b[31m \ud800", "word " * 500]
    scores = {name: Score(mean=0.5, low=0.4, high=0.6) for name in SYSTEMS}
    documents = {f"d{number}{SCRIPT if number == 2 else ''}": texts[number] for number in range(5)}
    found = [Found(doc_id, None if number % 2 else number % 4) for number, doc_id in enumerate(documents)]
    return Details(
        behind=Behind(
            query_ids=QUERIES,
            values={
                "ndcg@10": {
                    SYSTEMS[0]: [0.9 * (n % 7) / 6 for n in range(30)],
                    SYSTEMS[1]: [0.5 * (n % 7) / 6 for n in range(30)],
                }
            },
            retrieved={name: dict.fromkeys(QUERIES, found) for name in SYSTEMS},
            relevant={query: {next(iter(documents)): 3} for query in QUERIES},
            ranks={SYSTEMS[0]: [1, None, 12] * 10, SYSTEMS[1]: [1, 2, None] * 10},
            causes={SYSTEMS[0]: {QUERIES[1]: (Cause.NEVER_FOUND,), QUERIES[2]: (Cause.JUST_BELOW,)}},
            quotes={QUERIES[0]: "script>window"},
            texts={query: texts[number % len(texts)] for number, query in enumerate(QUERIES)},
            passages=documents,
            kinds={query: f"kind {IMAGE}" if number % 2 else "fact" for number, query in enumerate(QUERIES)},
            words={query: [["word"], ["window", "script"], []] for query in QUERIES},
            reasons={QUERIES[0]: {"d0": [Reason(0, f"judge {IMAGE}", f"because {SCRIPT}")]}},
            pooled={QUERIES[0]: {"d1"}},
            parts={f"type {SCRIPT}": [f"fact {IMAGE}", "reason", None] * 10},
            home=f"set {SCRIPT}",
        ),
        curves={"hit": [Points(name, (1, 5, 10), (0.1, 0.5, 0.7), (0, 0.4, 0.6), (0.2, 0.6, 0.8)) for name in SYSTEMS]},
        slicings=[Slicing(f"type {SCRIPT}", [Part(f"fact {IMAGE}", 12, scores), Part("reason", 18, scores)])],
        notice=f"Beware {SCRIPT}",
    )
