"""Arguments and results: bound to the signature, and carried through JSON."""
