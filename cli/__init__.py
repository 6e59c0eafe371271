"""The `magma` command."""
