"""The background process that drives a session, and its connections to front ends."""
