"""The difference of two texts: lines that match, hunks, words. Pure; for the session and every view of a diff."""
