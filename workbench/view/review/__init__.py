"""The model of a review: scopes, comments, and reverting hunks."""
