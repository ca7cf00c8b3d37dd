"""Confines the programs that the agent runs (which files they read and write, which hosts they reach), and proves that
it works.
"""
