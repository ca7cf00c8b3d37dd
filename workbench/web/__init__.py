"""Fetching with checked addresses, proxies and limits."""
