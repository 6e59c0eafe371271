"""What happens to an event afterwards: the slow path."""
