"""Other agents as sub-agents: the client side of the Agent Client Protocol.

A session of a sub-agent uses it: the agent's program is the session's model, which proposes what the program asks to
do, and the session's tools answer the program. Nothing here decides; the session does, as for its own actions.
"""
