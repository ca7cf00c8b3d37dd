"""Other agents as sub-agents: the client side of the Agent Client Protocol.

In the session of such a sub-agent, the agent's program takes the place of the model: what it asks to do is proposed as
actions, and the session's tools return the results to it. Nothing here decides; the session does, as for its own
actions.
"""
