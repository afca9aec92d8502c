"""Short bursts of sync work from async code, with no database connection kept afterwards.

A burst is one sync function that touches the database and returns plain data. It runs on a
bounded executor in the caller's context (so the active language comes along), and the thread
closes its connections behind it. Tools, searches and receivers run on executors of their own:
eight tools that hang keep neither a turn from being saved nor a search from being made.

``doors`` are the ways in, ``pool`` the threads behind them, ``containing`` what a site's code must
not do to the process, ``held`` the connections of whoever waits.
"""

from .containing import contained
from .doors import ShuttingDown, burst, inline, receiver_burst, search_burst, site_burst
from .held import release_connections
from .pool import MOST_LEFT_BEHIND, THREADS, ThreadsHang

__all__ = [
    "MOST_LEFT_BEHIND",
    "THREADS",
    "ShuttingDown",
    "ThreadsHang",
    "burst",
    "contained",
    "inline",
    "receiver_burst",
    "release_connections",
    "search_burst",
    "site_burst",
]
