"""A session as something to give away: transcripts, pictures of the screen, a recording. Used by `ohw export`."""
