"""Adds up small account books."""
