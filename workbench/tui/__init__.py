"""The Textual app: what a person sees of a session, and the keys by which they steer it."""
