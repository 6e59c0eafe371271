"""Who asks, and what they may do: API keys, tokens, and the gate in front of every route under `/v1`."""
