"""Rules of the stage `formation`: Do its pods and groups exist?"""
