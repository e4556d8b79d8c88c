"""The dashboard: what is broken, since when, why something is not running, and how to mend it."""
