"""The difference of two texts: matching lines, hunks, changed words. Pure functions, used by the session and all diff
views.
"""
