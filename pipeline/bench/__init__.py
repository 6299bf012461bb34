"""The experiment: which retriever, with which settings. Described in ``bench.toml``, measured, compared.

``settings`` reads the file, ``sweeps`` makes one system into many, ``running`` searches and times each of them unless
``fingerprints`` says that it was done before, ``finding`` turns the runs into figures, ``conducting`` does all of it.
"""
