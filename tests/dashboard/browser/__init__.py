"""Tests of the dashboard as browsers show it."""
