"""The difference of two texts: lines that match, hunks, words. Pure; used by the session and by every view of a diff."""
