"""What happens to a question."""
