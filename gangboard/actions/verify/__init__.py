"""Verification of a change until it has held, or until another client has undone it.

`change_detection` reads the changed objects and the Hold, `pod_checks` the pods of what was suspended and of its siblings.
`watching` runs both.
"""
