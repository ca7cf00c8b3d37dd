"""Child processes: starting, supervision, cleanup after a crash, and RPC over pipes.

Used by every layer that runs a program; no other package may start a process.
"""
