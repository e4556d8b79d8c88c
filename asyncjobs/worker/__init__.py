"""The worker: a supervisor that runs no handler, and children that claim, run and settle."""
