"""When a question opens, when it may be answered, and where the answer goes."""
