"""The model of a gang and its builder, with the counts, losses and texts that several rules share.

All functions are pure. Rules do not import each other, so their common code is here.
"""
