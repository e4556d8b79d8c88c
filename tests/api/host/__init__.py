"""A site of its own, set up as it likes."""
