"""Confines what the agent runs: which files it reads and writes, which hosts it reaches, and the proof of it."""
