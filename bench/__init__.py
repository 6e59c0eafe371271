"""One command for each claim that is measured."""
