"""One action from its proposal to its result: rated, decided, checked again, run, observed."""
