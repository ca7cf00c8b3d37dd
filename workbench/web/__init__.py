"""Fetches URLs with checked addresses, through proxies if wanted, and with limits on size and time."""
