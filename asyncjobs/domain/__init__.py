"""What a job is and how it may change. Pure: no Django, no Redis, no clock, no randomness."""
