"""The adversary of the sandbox: a program that tries to get out of a wall, and the world outside that judges it."""
