"""Asking with a small model: sentences worth asking about, the questions they answer, and the model's choice.

``statements`` picks the sentences, ``forms`` the questions of a sentence, ``passages`` says which passages are served
at all, and ``small_model`` has the model choose.
"""

from goldbench.pipeline.stages.ask.passages import are_abstracts
from goldbench.pipeline.stages.ask.small_model import SmallModelGenerator

__all__ = ["SmallModelGenerator", "are_abstracts"]
