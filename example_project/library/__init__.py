"""The library: pages, events, questions and staff notes. Its texts are in ``content/``."""
