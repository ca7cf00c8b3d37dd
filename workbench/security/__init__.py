"""How dangerous an action is, what modes and rules make of that, and secrets kept out of texts."""
