"""One file per grouping API: which pods belong together, their quorum, what its scheduler says.

Each file offers a constant GROUPING and is found by being here. May import domain and decode.
"""
