"""Fetches URLs with checked addresses, through proxies if requested, and with limits on size and time."""
