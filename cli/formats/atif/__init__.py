"""ATIF, the Agent Trajectory Interchange Format of Harbor: one JSON document for each run."""
