"""The connections that a thread holds while it waits."""

from django.db import connections


def release_connections() -> None:
    """Close this thread's connections, unless a caller's transaction needs them (TestCase).

    For before a wait: the next query opens one again.
    """
    if not any(connection.in_atomic_block for connection in connections.all(initialized_only=True)):
        connections.close_all()
