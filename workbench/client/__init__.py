"""The engine's client: how a front end starts an engine, sends commands and receives events.

Used by `view`, `plain` and `tui`; knows the engine and the protocol, but nothing of the presentation.
"""
