"""Whether an answer is borne by what it cites: an option of the agent.

claims    a saved answer -> its sentences, each with the numbers it cites
calendar  names of months and weekdays in the languages of a site
facts     numbers, times, dates and names of a sentence; what a passage can vouch for
checking  ``check_support``: all of it together, and the quote for each reference

What it can and cannot tell is in ``docs/citations.md``.
"""

from .checking import Support, check_support

__all__ = ["Support", "check_support"]
