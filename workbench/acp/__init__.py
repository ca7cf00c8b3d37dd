"""The front end for editors: `ohw acp` speaks the Agent Client Protocol (https://agentclientprotocol.com) over stdio.

Like the screen and plain mode, it shows what `workbench.view` computes, and knows neither the log nor how decisions are
made. Only this package and `workbench.acp_client` import `acp`, the protocol's official package.
"""
