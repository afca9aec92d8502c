"""Chat models: from an alias in the settings to a LangChain chat model.

``aliases`` builds and shares them, ``extractive`` answers by quoting when no language model is
set up, ``scripted`` is the double for tests. Vendors are imported on first use only.
"""

from .aliases import aget_chat_model, forget_models, get_chat_model

__all__ = ["aget_chat_model", "forget_models", "get_chat_model"]
