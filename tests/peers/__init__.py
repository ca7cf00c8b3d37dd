"""Fake providers of other projects, against which `ohw run` is tried once per release; see `__main__`."""
