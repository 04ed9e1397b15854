"""The words: frozen dataclasses and enums.

Nothing happens here: no clock, no network, no database, no rule. Only the standard library may be
imported. Every other room speaks in these words.
"""
