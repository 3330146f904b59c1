"""The parts of a run: each has a ``run(run) -> Report`` and the functions its processes execute."""
