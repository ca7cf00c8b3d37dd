"""An offline model that plays a script, for the demo and the tests."""
