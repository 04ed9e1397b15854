"""The check: what would become of a manifest in a watched cluster.

A manifest becomes the objects that its controllers would create. The same decoders, graph, rules and arithmetic judge
them as judge live gangs. Nothing is created in a cluster, and no observation is stored.
"""
