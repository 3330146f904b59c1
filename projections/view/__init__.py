"""Which versions a view is made of, and how each is shown: the piece table.

    events -> fold (lineage, edits) -> pieces -> View

``open_view`` opens the view of a session in a store, ``project`` folds events that are in memory.
"""
