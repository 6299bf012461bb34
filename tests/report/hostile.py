"""A scorecard, an experiment and a history whose every text is hostile."""

from __future__ import annotations

from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.comparison import scorecard
from goldbench.measures.statistics.slices import QuerySlice, Slicing
from goldbench.records.experiment import Experiment, FailedSystem, Latency, Measurable, PublishedRow, Timing, Timings
from goldbench.records.scorecard import GoldReference, HistoryEntry, Method, RunCounts, Score, Scorecard
from goldbench.report.charts import Points
from goldbench.report.pages import Details

SCRIPT = "<script>window.broken=1</script>"
IMAGE = "<img src=x onerror='window.broken=1'>"
ENDINGS = "</script></style></textarea>--><!-- ]]> \u2028 {{ 7*7 }} ${7*7} &lt;b&gt;"
SYSTEMS = (f"A <b>bold</b> &amp; {SCRIPT}", f"B {IMAGE} | `x`")
ARABIC_SYSTEM = "نظام BM25 (النسخة 2)!"
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
    scores = {name: Score(mean=0.5, low=0.4, high=0.6) for name in SYSTEMS}
    return Details(
        curves={"hit": [Points(name, (1, 5, 10), (0.1, 0.5, 0.7), (0, 0.4, 0.6), (0.2, 0.6, 0.8)) for name in SYSTEMS]},
        slicings=[
            Slicing(f"type {SCRIPT}", [QuerySlice(f"fact {IMAGE}", 12, scores), QuerySlice("reason", 18, scores)])
        ],
        notice=f"Beware {SCRIPT}",
        special=[(SCRIPT, [["run", "kind"], [IMAGE, ENDINGS]])],
        unanswerable=["\x00\x1b[31m \ud800"],
        command=f"goldbench open {SCRIPT}",
    )


def hostile_experiment() -> tuple[Experiment, Timings]:
    card = hostile_card()
    names = [system.system for system in card.systems]
    measure = card.measures[0]
    timing = Timing(
        index_s=1,
        index_embed_s=2,
        passages=30,
        queries=30,
        warm_up=3,
        whole=Latency(p50_ms=1.5, p95_ms=2),
        search=Latency(p50_ms=0.5, p95_ms=1),
        embed=Latency(p50_ms=1, p95_ms=1),
    )
    experiment = Experiment(
        compared=(measure,),
        depth=100,
        card=card,
        systems=[
            Measurable(system=name, settings={name: {"kind": SCRIPT}}, passages=30, run="runs/x.trec", run_sha256="0")
            for name in names
        ],
        failures=[FailedSystem(system=SCRIPT, problem=SCRIPT)],
        published=[PublishedRow(published=SCRIPT, beside=(names[0],), values={measure: 0.5})],
        notes=[SCRIPT],
        notice=SCRIPT,
    )
    slower = timing.model_copy(update={"whole": Latency(p50_ms=2, p95_ms=4)})
    return experiment, Timings(timings={names[0]: timing, names[1]: slower})


def hostile_history() -> list[HistoryEntry]:
    counts = RunCounts(queries=6, missing=0, extra=0, no_relevant=0, tied=0, holes=0)
    return [
        HistoryEntry(
            at=f"2026-01-0{day}T00:00:00+00:00",
            goldbench="0",
            gold=GoldReference(name=f"مجموعة {SCRIPT}", sha256="0" * 64, queries=6),
            system=system,
            label=SCRIPT,
            run="runs/first.trec",
            page=["scores.html", None, "javascript:alert(1)"][day - 1],
            means={"ndcg@10": Score(mean=0.1 * day, low=0.05, high=0.5)},
            counts=counts,
            alerts=[f"{system}: ndcg@10 0.1000 is below 0.2000"],
        )
        for day in (1, 2, 3)
        for system in (*SYSTEMS, ARABIC_SYSTEM)
    ]
