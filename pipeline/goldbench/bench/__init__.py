"""The experiment: which retriever, with which settings. Described in ``bench.toml``, measured, compared.

``trial`` conducts it from the first search to the last figure. ``bench_file`` reads the description and turns a system
with a sweep into many; ``search`` runs and times each system unless its run in ``experiment_files`` is still valid.
"""
