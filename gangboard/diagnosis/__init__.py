"""The verdict on a gang: find its objects, divide it into units, run the rules, and rank the findings.

May import domain, placement and the four registries. The functions are pure: no clock, database or network.
"""
