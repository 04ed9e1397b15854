"""Readings of the facts that several rules share: counts, losses, texts, and how sentences name things.

Pure functions of what they are given; rules do not import each other, so what they share is here.
"""
