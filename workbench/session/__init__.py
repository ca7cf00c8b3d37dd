"""A session: its log of events, and the state machine on it.

The engine and the headless command drive it. It does not know front ends, or any tool by name.
"""
