"""The difference of two texts: matching lines, hunks, changed words. Pure functions for the session and diff views."""
