"""What engine, front ends and session files exchange: events, live messages and commands as plain data.

Used by every layer; knows none of them.
"""
