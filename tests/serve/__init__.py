"""The web view: who may connect, and the program in a tab."""
