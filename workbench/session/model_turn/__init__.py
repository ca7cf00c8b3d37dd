"""One turn of the model: the history as messages, room and condensing, the call, the answer."""
