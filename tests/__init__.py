"""The tests; they stand on databases made by `mimo_database` and need no outside data."""
