"""Integration with the terminal and the desktop: title, progress, notices, clipboard, plain characters, input."""
