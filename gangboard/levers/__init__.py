"""One file per way to stop something and start it again: what it does, how it is proved, what the actor may
change for it, how it is confirmed.

Facts about one gang enter, a `Decision` or a refusal comes out. Which lever is pulled, and what the kinds
and the queue do meanwhile, is decided in `policy`. Found by folder; the files never import each other.
"""
