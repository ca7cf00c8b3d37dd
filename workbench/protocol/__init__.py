"""The data that the engine, the front ends and session files exchange: events, live messages and commands.

Used by every layer; knows none of them.
"""
