"""The task board: tasks in a stream of their own, shared by several agents."""
