"""The tools a site offers its agents besides the search.

In: LangChain tools, registered by name, usually from an app's ``ai_answers.py``. Out: the same
by name; which agent may call which is set in the admin. Holds back nothing, calls no model.
Test it by registering a function decorated with ``langchain_core.tools.tool``.
"""

from .registry import get_tool, is_required, register_tool, registered_tools, unregister_tool
from .rows import Listing, listed

__all__ = [
    "Listing",
    "get_tool",
    "is_required",
    "listed",
    "register_tool",
    "registered_tools",
    "unregister_tool",
]
