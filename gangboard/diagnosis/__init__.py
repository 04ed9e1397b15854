"""Find the objects of a gang, divide it into units, run the rules, rank, give one verdict.

May import domain, placement and the four registries. Pure: no clock, no database, no network.
"""
