"""What ends or nudges a run: limits, circles, failures that repeat."""
