"""A run is not the request: it executes on the process's loop thread and is read from a log."""
