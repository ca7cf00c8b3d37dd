"""Fake providers of others, against which `ohw run` is tried once per release; see `__main__`."""
