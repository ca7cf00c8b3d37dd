"""How the screen behaves towards the terminal and the desktop: title, progress, notices, clipboard, plain signs."""
