"""Rules of the stage `start`: Do the containers come up?"""
