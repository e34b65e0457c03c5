"""Measurements of the whole program, run by hand: nothing here is collected by pytest."""
