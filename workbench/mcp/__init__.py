"""Servers of the Model Context Protocol: their settings, connections, pinned definitions and tools; used by `session`.

The SDK is imported with the first connection, in the thread that makes it.
"""
