"""One file per lever: its requests, its proof, its confirmation, and what the actor may change for it.

A lever gets the facts of a gang and returns a `Decision` or a refusal. `policy` chooses the lever and adds what kinds and
queues do meanwhile. Levers are found by folder and never import each other.
"""
