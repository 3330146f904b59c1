"""The main job, on a real transcript: ``make demo``."""
