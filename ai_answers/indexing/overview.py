"""How an index is: what it holds, what searches use, whether it is in step with its settings.

In: an alias. Out: an ``Overview``; a backend that cannot be asked is told of, not raised.
"""

from __future__ import annotations

import datetime
import logging
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from ..conf import app_settings
from ..exceptions import AnswersError
from ..models import IndexState
from ..retrieval import Stats, get_index, index_settings
from ..retrieval.embeddings import embedding_identity
from ..sources import registered
from . import is_in_index, is_stale

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    alias: str
    stats: Stats | None = None
    sources: tuple[str, ...] = ()
    """Names of the registered sources it holds."""
    embedding: str | None = None
    """Alias of the embedding that is set."""
    serving: str | None = None
    """Alias of the embedding that searches use now; ``None``: words alone."""
    stale: str | None = None
    """Why it needs to be indexed again."""
    written_at: datetime.datetime | None = None
    """About the time of the last write."""
    is_read_only: bool = False
    """Whether others fill it."""
    problem: str = ""
    """Why nothing else is known of it."""


def overview(alias: str) -> Overview:
    """Ask the index of that alias; one query or two a number."""
    try:
        index, entry = get_index(alias), index_settings(alias)
        state = IndexState.objects.filter(index=alias).first() or IndexState(index=alias)
        return Overview(
            alias=alias,
            stats=index.stats(),
            sources=tuple(source.name for source in registered() if is_in_index(source, alias)),
            embedding=entry.embedding,
            serving=_serving(entry.embedding, state.embedding),
            stale=is_stale(alias),
            written_at=_moment(state.version),
            is_read_only=index.is_read_only,
        )
    except AnswersError as error:
        return Overview(alias=alias, problem=str(error))
    except Exception as error:  # a site's own backend
        logger.exception("The index %r could not be asked.", alias)
        return Overview(alias=alias, problem=type(error).__name__)


def _serving(embedding: str | None, identity: str) -> str | None:
    if embedding is None or not identity:
        return None
    aliases = [embedding, *app_settings().EMBEDDINGS]
    return next((alias for alias in aliases if embedding_identity(alias) == identity), None)


def _moment(version: int) -> datetime.datetime | None:
    if not version:
        return None
    moment = datetime.datetime.fromtimestamp(version / 1_000_000, tz=datetime.UTC)
    return moment if settings.USE_TZ else timezone.make_naive(moment)
