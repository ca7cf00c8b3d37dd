"""Fetches URLs with limits on size and time, after checking the addresses; through proxies if requested."""
