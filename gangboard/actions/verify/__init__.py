"""Watching what was done until it can be said that it held, or who undid it.

One file for each thing that is looked at: the changed fields (`kept`), the pods of what was
suspended (`leaving_pods`), everybody else's (`siblings`). `watching` puts them together.
"""
