"""Drives a browser with a profile of its own: pages as trees of elements with ids, and as pictures."""
