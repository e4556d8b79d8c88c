"""Tests of the HTTP API as it is served: by servers and workers in processes of their own."""
