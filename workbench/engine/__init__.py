"""The process that drives a session in the background, and how screens speak with it."""
