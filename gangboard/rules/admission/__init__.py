"""Rules of the stage `admission`: May it run?"""
