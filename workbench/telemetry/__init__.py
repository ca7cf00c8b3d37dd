"""Spans for OpenTelemetry: made from the events of a session, sent to a collector in a thread of their own.

A session follows its log with this package if the user's settings ask for that. Only `telemetry.otlp` imports
opentelemetry, which is an extra; nothing here knows the session, its files or a front end.
"""
