"""Random relocations on real control planes, with kills and other people's writes, judged by a witness.

`tests.interleavings` plays actions against the simulator, step by step. Here the API server, the
controllers and gangboard's processes are real, so a seed repeats the case and not its timing.
"""
