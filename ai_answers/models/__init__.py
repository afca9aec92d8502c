"""The tables, one file per noun."""

from .agents import Agent, AgentTool
from .blocks import AnswerBlock, QuestionBlock, SourcesBlock
from .budgets import BudgetDay
from .conversations import Conversation, Feedback, Turn
from .index import (
    IndexedChunk,
    IndexedDocument,
    IndexedTag,
    IndexedVector,
    IndexLeftover,
    IndexState,
)
from .jobs import IndexingJob
from .logs import RunLog
from .runs import Run

__all__ = [
    "Agent",
    "AgentTool",
    "AnswerBlock",
    "BudgetDay",
    "Conversation",
    "Feedback",
    "IndexLeftover",
    "IndexState",
    "IndexedChunk",
    "IndexedDocument",
    "IndexedTag",
    "IndexedVector",
    "IndexingJob",
    "QuestionBlock",
    "Run",
    "RunLog",
    "SourcesBlock",
    "Turn",
]
