"""One file per attack; `found.attacks` finds them.

A file offers `SECONDS`, after which the attack has failed, and `attack(board)`, which attacks the shared
gangboard (or processes that it starts itself), returns its figures by name, and raises AssertionError
where a promise is broken.
"""
