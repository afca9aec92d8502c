"""Parts that settings name by alias, made once a process for each setting.

In: the name of a setting such as ``EMBEDDINGS``. Out: an alias's object. It is made at first use:
a vendor's package may take seconds to import, a local model to load; meanwhile other aliases are
served. Test it with ``override_settings``.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

from ..conf import alias_settings, make_part


class Made:
    """The objects of one setting, by alias."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._made: dict[str, tuple[Any, Any]] = {}
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def get(self, alias: str) -> Any:
        """Return the object of ``alias``; a changed setting makes another.

        Raises ``ConfigurationError``, and what the vendor's class raises.
        """
        entry = alias_settings(self._setting, alias)
        with self._lock:
            lock = self._locks[alias]
        with lock:
            made = self._made.get(alias)
            if made is None or made[0] != entry:
                where = f"AI_ANSWERS[{self._setting!r}][{alias!r}]"
                options = entry.get("OPTIONS", {})
                part = make_part(entry["BACKEND"], setting=where, options=options)
                made = self._made[alias] = (dict(entry), part)
            return made[1]
