"""The order of hit lists is one rule, in whichever form the scores are held."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goldbench.measures.ranks.order import best, highest, in_tie_order, rank_of

LISTS = st.dictionaries(st.text(max_size=2), st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=30)


@given(LISTS, st.integers(1, 40))
def test_every_form_gives_the_same_order(scores: dict[str, float], k: int) -> None:
    rule = [doc_id for _, doc_id in sorted(((score, doc_id) for doc_id, score in scores.items()), reverse=True)]
    assert list(best(scores, k)) == rule[:k]

    ids = in_tie_order(scores)
    values = np.array([scores[doc_id] for doc_id in ids])
    assert [ids[position] for position in highest(values, k)] == rule[:k]

    shuffled = np.random.default_rng(0).permutation(len(ids))
    assert [ids[shuffled[at]] for at in highest(values[shuffled], k, shuffled)] == rule[:k]

    for doc_id, score in scores.items():
        above = sum(other > score for other in scores.values())
        equals = [other for other, its in scores.items() if its == score]
        assert rule[rank_of(doc_id, above, equals) - 1] == doc_id
