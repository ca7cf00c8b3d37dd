"""A session: its log of events, and the state machine on it.

Driven by the engine and the headless command. It knows no front end, and no tool by name.
"""
