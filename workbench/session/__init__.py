"""A session: its log of events, and the state machine that decides what comes next."""
