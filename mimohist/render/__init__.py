"""How answers are written: sibling modules over the same values.

`human` for a terminal (the only one that needs Rich), `plain` for pipelines, `json` for programs.
"""
