"""The check: forecasts for manifests in a watched cluster.

A manifest becomes the objects that its controllers would create. The decoders, graph, rules and arithmetic of live gangs
judge them. A check sends no request to a cluster and stores no observation.
"""
