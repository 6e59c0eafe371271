"""How Magma runs: the local stack, images, compose file."""
