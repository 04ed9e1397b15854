"""Rules of the stage `placement`: Does the scheduler find room?"""
