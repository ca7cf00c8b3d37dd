"""Editors: `ohw acp` speaks the Agent Client Protocol (https://agentclientprotocol.com) on stdin and stdout.

A front end like the screen and plain mode: it shows what `workbench.view` computes, and knows neither the log nor how
anything is decided. Only this package imports `acp`, the protocol's official package.
"""
