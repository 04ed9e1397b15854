"""Values that all other packages use: frozen dataclasses and enums.

They use no clock, network or database, and contain no rules. They import the standard library only.
"""
