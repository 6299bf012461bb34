"""The way to a model, as layers that each know only the one below.

::

    Recorded      the answer is kept before anything uses it; the same question is never paid for twice
    Repairing     a reply that does not fit its schema is shown to the model once
    Retrying      what may pass is tried again, bounded in attempts and seconds
    Limited       a slot of the gate for as long as one exchange takes; caps are checked before it
    OpenAIChat    one question is one HTTP exchange and one outcome

Embeddings go the same way through the same gate. ``open_model`` in ``open`` stacks the layers. Nothing here logs,
raises or prints a key, a prompt, a text or a reply.
"""
