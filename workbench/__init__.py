"""ohw: a terminal workbench for coding agents."""

__version__ = "0.1.0"
