"""How dangerous an action is, rated locally."""
