"""Models that this machine runs itself: a GGUF file, served by llama.cpp in child processes.

``model_file`` finds the file, ``model_child`` starts and ends one process, ``local_wire`` shares the calls of a path
among several, and ``model_process`` is what such a process runs; it alone imports ``xllamacpp``.
"""
