"""One file per admission system: who waits for whom.

Each file offers a constant QUEUE and is found by being here. May import domain and decode.
"""
