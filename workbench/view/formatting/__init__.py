"""Actions, questions, results and sessions as lines of text."""
