"""Rules of the stage `run`: Does it run, and is it whole?"""
