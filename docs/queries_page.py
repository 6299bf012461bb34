"""The page docs/reference/queries.md: kinds of queries, levels of difficulty, queries of a log, rules of a build."""

from __future__ import annotations

from docs.code_pages import MADE, joined, table
from goldbench.text.personal_data import RULES as PERSONAL

_QUERIES = f"""\
# Kinds of queries, and the rules of a build

{MADE}
"""
_RULES = """\
The end of a build prints how many chunks and queries each rule rejected. `3-rejections.jsonl` holds every
rejected query with the reason.

"""
RULES = {
    "too-short": (
        "A chunk under 40 words (10 with `--no-chunk`)",
        "`--no-chunk` for complete passages, or larger chunks",
    ),
    "too-long": ("A passage above the limit", "Smaller chunks (`--chunk-size`); with `--no-chunk`, shorter rows"),
    "few-letters": ("A table of numbers, a formula or code", ""),
    "contents-list": ("A table of contents or an index", ""),
    "link-list": ("A chunk that is mostly links", ""),
    "navigation": ("A menu", ""),
    "index-page": ("A page with the title or file name of an index, a table of contents or a search page", ""),
    "changelog": ("A list of what changed in a release", ""),
    "licence": ("A licence or copyright page", ""),
    "no-sentence": ("A chunk without a sentence", ""),
    "near-duplicate": (
        "A chunk that is almost another one, which stays",
        "Nothing needs to be done: the labels of the one that stays count for both",
    ),
    "skipped": (
        "A chunk for which the model, or the offline generator, found no query",
        "Fewer constraints; more chunks",
    ),
    "foreign-language": ("A chunk in a language that the model does not know", "A larger model"),
    "schema": ("A query without a word, of repeated words alone, or of more than 500 characters", ""),
    "length": ("A query that is too short or too long", "`[generate.constraints]`"),
    "constraints": ("A query with banned words, punctuation, options or numbering", "`[generate.constraints]`"),
    "evidence": ("A query whose evidence does not stand in the document", "Another model"),
    "language": ("A query in another language than asked for", "`--language`, or another model"),
    "deixis": ('A query that points at something unseen, as "this table"', ""),
    "refusal": ("A text in which the model declines the task", "Another model"),
    "placeholder": (
        "A query with a part to fill in, as `[PRODUCT]`, or a text that announces a query",
        "Another model",
    ),
    "instruction": (
        "A text that gives an order to a model, or with which a model begins to follow one",
        "Another model",
    ),
    "no-answer": ("A query whose answer says that there is none", ""),
    "answer-tie": (
        "A query whose answer shares less than a quarter of its content, and no quantity, with the evidence",
        "Another model",
    ),
    "nothing-asked": ("A plain statement, or a query that says everything its evidence says", ""),
    "no-cause": ("A query for a reason whose evidence names none", ""),
    "off-topic": ("A query that shares no word with its passage or the title", "Another model"),
    "no-subject": ("A query with no word of its title, whose subject, as the model gives it, stands in neither", ""),
    "yes-no-quota": ("A query answered by yes or no, when a tenth of the set is", ""),
    "answer-leak": ("A query that holds its own answer", ""),
    "copied-run": ("A query that copies six or more words in a row", ""),
    "overlap": ("A query of five or more content words that all stand in the text", ""),
    "unlikely": (
        "A query that the model was unsure of, by the probabilities of its words; taken if the others are too few",
        "A larger model",
    ),
    "overlap-quota": (
        "A query with over 60 % of its words in the text, when such queries are 60 % of the set already",
        "More documents, or fewer `--queries`",
    ),
    "duplicate": ("A query that is almost an earlier one", "More documents, or fewer `--queries`"),
    "one-passage-enough": ("A query for several passages that one of them answers", "Another model"),
    "moment": ("A temporal query that does not name the date or the version of its passage", "Another model"),
    "history": ("A conversation without one or two earlier turns, or whose earlier turns give the evidence", ""),
    "self-contained": ("A conversation whose last question can be understood alone", "Another model"),
    "answered": ("A query that nothing should answer, and a judged passage helps to", "Another model"),
    "kind-quota": ("A query of a kind of which there are enough", "A model that writes the kind asked for"),
    "surplus": ("A query after the number asked for was reached", ""),
}
"""What each rule of a build rejects, and what to do when it rejects too much."""

_LOGS = """\
A log is text with one query per line, CSV, TSV, JSON or JSON Lines, packed or not. The column of queries is the first
of `user_query`, `query`, `question`, `q`, `search`, `keywords` and `text`, unless one is named; a column `frequency`,
`freq`, `count` or `searches` says how often the query was asked. Spellings that differ only in case, width, spaces
and final marks are one query.

Exports of OpenSearch's User Behavior Insights (specification 1.0.0 to 1.3.0, OpenSearch 2.15 and later) are read as
they are: `ubi_queries` and `ubi_events` as records, hits (`_source`), lines of the bulk API or responses to a search,
or CSV with nested names joined by dots. A search that was stored for each of its pages counts once (`query_id`). Of
the events, `click`, `click_through`, `add_to_cart`, `purchase`, `watch` and thumbs up count for a result, thumbs down
against it; views and impressions do not count. `object_id` must be the id of a passage.

When queries are drawn from a log for a set, those with personal data are left out and counted by rule, never printed
(`drift` shows the queries of a log as they are). These are rules and no guarantee: a name that is not in your list,
an address in words or a number of five digits goes through. Look through the queries of a set before you give it
away.
"""
_SAMPLE = """\
The *head* of a log are the queries asked most often that together make up the first third of all searches, the
*torso* those of the second third, the *tail* the rest and every query that was asked only once. Queries asked equally
often stay in one band. That rare queries are those asked once follows Downey, Dumais and Horvitz (2007), *Heads and
Tails: studies of web search with common and rare queries*; the thirds are goldbench's own choice. Within a band every
query is as likely to be drawn as any other, by a seeded draw of its own, so a log that grows a little gives nearly
the same queries.

`frequency` is how often a query was asked. `traffic` is how many searches of the log it stands for: the searches of
its band, shared among the queries drawn from it by their frequency. `goldbench score --weight traffic` estimates the
mean over all searches; `--weight frequency` is the mean over the searches of the drawn queries alone, in which the
head counts far more. Clicks and votes are not labels, because people click on what is shown first: they bring
passages into the pool, to be judged first.
"""
_DIFFICULTY = """\
Each query of a build says how hard it is for word matching (`difficulty` in `3-queries.jsonl`), as facts: the share
of its content words that stand in its source (`overlap`), how many passages it needs (`needed`), and the rank
(`ranks`) of the needed passage that is placed worst by two systems that search the emitted corpus: `bm25`, over words
in the language of the collection, and `bm25-ngrams`, over character n-grams (in a collection of more than 20,000
passages `bm25` alone; nothing is measured above 50,000). A near-duplicate counts as the passage, a rank beyond 100 as
none. From these follows one level:

| Level | A query that |
| --- | --- |
| `easy` | needs one passage, and both systems place it first |
| `hard` | no system answers within the first 10: the needed passage, or one of them, is further down in each |
| `medium` | is neither; one that needs several passages is never easy |

`score` shows the levels as slices: on the page, and in the terminal for sets with shares of kinds;
`card` counts them. Of people's questions about paragraphs (XQuAD in English, German, Chinese and Arabic, 1,190
questions to 240 paragraphs each; ARCD, 1,200 to 460) 61 % to 90 % are easy, 9 % to 36 % medium and 0 % to 3 % hard.
Where people judged all passages (Cranfield, CACM, CISI, Medline, NPL, Cystic Fibrosis) and the best-placed relevant
one counts, it is 22 % to 83 %, 17 % to 67 % and 0 % to 12 %. A set with many hard queries is harder than what people
ask of such collections; and a hard query may only lack labels: in those collections 58 % to 76 % of the queries would
be hard if one relevant passage, drawn at random, were the only one that counts. Grade such a set (`goldbench grade`)
before trusting scores on it.

"""

_KINDS = """\
`fact`, `definition`, `procedure`, `reason`, `condition`, `comparison` and `summary` are asked about one passage each,
and `[generate.kinds]` holds their weights.
As soon as it names a kind beyond a single passage with a share above 0, all shares are exact: of 100 queries,
`fact = 0.4` gives 40 (the method of largest remainders). The end of a build names each kind of which there are too few,
with exit code 3 where a number of queries was asked for.

| Kind | A query that | How it is made and checked |
| --- | --- | --- |
| `multi_hop` | needs two or three passages together | The passages share a rare term, a name first. One request \
writes, with a sentence of each passage as evidence. One request per passage asks whether it alone is enough; if one \
is, the query is rejected (`one-passage-enough`). `[generate.multi_hop]` sets the number of passages, and whether \
they are of different documents. |
| `cross_comparison` | compares what two documents say | The same, with passages of different documents. |
| `temporal` | depends on a date or a version | The passage names one date or version, in its title, its heading, the \
name of its file or its text, and there are passages of two at least; the query must name \
the version or the year, too (`moment`). |
| `conversational` | needs the earlier turns | One or two earlier turns, a last question and a form of it that stands \
alone. The stand-alone form keeps all rules; a request asks whether the last question can be understood alone, and \
if so, it is rejected (`self-contained`). |
| `unanswerable` | sounds right, and nothing in the documents answers it | The model is shown a passage and the two \
that are most like it, and changes one thing in a question about them. Then these three and the passages that BM25, \
character n-grams and LSI find first, 20 in all (`[generate.unanswerable] depth`), are judged as `goldbench grade` \
judges; the query is kept if all grades are below 2, else rejected (`answered`). |
| `noisy` | has typing errors or dropped words | Made from the accepted queries, \
without a model; `originals` in `dataset.json` names what it was made from. |

The passages that belong together are `needs` in `dataset.json`, and each is relevant. Only a model of 0.3 billion
parameters or more writes these kinds, except `noisy`. The kind of a simulated query, and of a query by a model that is
asked in short, is read off its words. Of such a set only two numbers are exact: that of `noisy` queries, and that of
all others.

All kinds are written in turn, those about one passage first, so that none of them waits for another one; with `--batch`
each batch holds all kinds. A kind is left out, with one line, and what it lacks goes to the others: if nobody writes
it, if none of its first six proposals is accepted, if fewer than 10 % of its first 20 or more are, or if nothing in the
documents can be asked about in this way. What was accepted of it before stays in the set.

The text of a conversation is its last question; `history` and `standalone` in `dataset.json` hold the earlier turns and
the form that stands alone.

Unanswerable queries stand apart: in `unanswerable` of `dataset.json` and in `3-unanswerable.jsonl`, in no mean, and
the judgments of their passages stand in `3-unanswerable-judgments.jsonl`. What was not judged may still hold an answer.

Queries that came without a label (`goldbench add`, or `build --queries-from`) stand in `3-unlabelled.jsonl`. Those for
which a judge or a person found a passage of grade 2 or 3 are in the set as well; their source is the best such passage.
The others wait: they have a pool in `4-pool.jsonl`, and stand in no file of the set itself and in no mean.
"""


def queries() -> str:
    """Return the page of kinds, levels of difficulty, queries of a log, and the rules of a build."""
    rows = [(f"`{rule}`", what, remedy) for rule, (what, remedy) in RULES.items()]
    parts = [_QUERIES, "## Kinds of queries\n", _KINDS, "## Difficulty of queries\n", _DIFFICULTY]
    parts += ["## Users' queries\n", _LOGS, table(("rule", "leaves out a query that holds"), list(PERSONAL.items()))]
    parts += [_SAMPLE, "## Rules of a build\n", _RULES + table(("Rule", "Rejects", "What helps"), rows)]
    return joined(parts)
