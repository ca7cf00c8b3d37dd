"""Escapes that a hostile command tries from inside a wall: a program of the standard library alone, run as
`python -m escapes WORLD.json`.

It prints one line of JSON for each escape: name, outcome, detail. The outcomes are

- `held`: refused,
- `impossible here`: this machine has no such thing,
- `out`: got out, where only the program itself can see it,
- `tried`: nothing refused it; whether anything got out is judged outside, by the marks that it left there and by the
  secrets in the detail,
- `broken`: failed in a way that proves nothing.
"""
