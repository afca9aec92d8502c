"""The admin, one file per noun, as in ``models``.

Agents and blocks are edited here; conversations, runs, budgets and the index are only looked at.
Django's model permissions decide who sees what: text of visitors takes ``view_turn``.
"""

from . import (  # noqa: F401 - registers them
    agents,
    blocks,
    budgets,
    conversations,
    index,
    logs,
    runs,
)
