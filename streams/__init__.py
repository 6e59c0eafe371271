"""What happens to an event on the way in."""
