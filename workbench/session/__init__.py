"""A session: its log of events, and the state machine on it.

The engine and the headless command drive it. It knows no front end, and no tool by name.
"""
