"""The views of the API: each reads a request, does one thing, and answers."""
