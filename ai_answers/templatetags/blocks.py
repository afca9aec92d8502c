"""What the shell of a block shows, from a saved block or from the arguments of a tag.

In: a slug or options. Out: a frozen value for the block's template: configuration alone, the
same for every visitor, so a page that holds it can be cached (S75, S76).
A saved block costs one query, options none; with ``DEBUG`` one more looks whether the agent can
answer. No request: call it to test it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.template import TemplateSyntaxError
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, ngettext

from ..conf import app_settings
from ..models import Agent, AnswerBlock, QuestionBlock, SourcesBlock

_DOM_ID = re.compile(r"[A-Za-z][\w:.-]*")
# One number of each plural category, in every language that has it; CLDR's fractions aside.
_PLURAL_EXAMPLES = {"zero": 0, "one": 1, "two": 2, "few": 3, "many": 11, "other": 100}


class UnknownBlock(LookupError):
    """There is nothing to place: no block has the slug or, with ``DEBUG``, no agent answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShell:
    """An Answer block (D50, D52)."""

    dom_id: str
    agent: str
    allow_follow_up: bool = True
    show_references: bool = True
    references_label: str = ""
    show_feedback: bool = True
    empty_message: str = ""
    api: str = field(default_factory=lambda: reverse("ai_answers:question"))
    """URL of the question endpoint; the script finds the others next to it."""
    ask_url: str = field(default_factory=lambda: reverse("ai_answers:ask"))
    language: str = field(default_factory=lambda: get_language() or settings.LANGUAGE_CODE)
    csrf_header: str = field(default_factory=lambda: _header_name(settings.CSRF_HEADER_NAME))
    max_length: int = field(default_factory=lambda: app_settings().MAX_QUESTION_CHARS)
    finished: tuple[tuple[str, str], ...] = field(default_factory=lambda: _finished_texts())
    """Plural category → what is said when an answer is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionShell:
    """A Question block (D54)."""

    target: str
    """DOM id of the Answer block; the script looks it up when a question is asked (S79)."""
    target_url: str = ""
    agent: str = ""
    """For the page without JavaScript, which needs to know whom to ask."""
    placeholder: str = ""
    submit_label: str = ""
    suggested_questions: tuple[str, ...] = ()
    warning: str = ""
    """With ``DEBUG``: what the script shows where the page has no such Answer block."""
    ask_url: str = field(default_factory=lambda: reverse("ai_answers:ask"))
    max_length: int = field(default_factory=lambda: app_settings().MAX_QUESTION_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesShell:
    """A Sources block (S111)."""

    target: str
    label: str = ""


Shell = TypeVar("Shell", AnswerShell, QuestionShell, SourcesShell)

ANSWER_OPTIONS: Mapping[str, type] = {
    "agent": str,
    "id": str,
    "allow_follow_up": bool,
    "show_references": bool,
    "references_label": str,
    "show_feedback": bool,
    "empty_message": str,
}
QUESTION_OPTIONS: Mapping[str, type] = {
    "target": str,
    "target_url": str,
    "agent": str,
    "placeholder": str,
    "submit_label": str,
    "suggested_questions": object,
}
SOURCES_OPTIONS: Mapping[str, type] = {"target": str, "label": str}
OPTIONS = {
    "ai_answer": ("agent", ANSWER_OPTIONS),
    "ai_question": ("target", QUESTION_OPTIONS),
    "ai_sources": ("target", SOURCES_OPTIONS),
}
"""Tag → the option it needs, and all it may have."""


def answer_shell(slug: str | None, options: Mapping[str, Any]) -> AnswerShell:
    """Return the shell of the saved block ``slug``, or of ``options`` if it is ``None``."""
    if slug is None:
        given = dict(_checked("ai_answer", options))
        _look_for_agent("ai_answer", given["agent"])
        dom_id = given.pop("id", f"ai-answers-answer-{given['agent']}")
        return AnswerShell(dom_id=_checked_id("ai_answer", "id", dom_id), **given)
    block = _saved(AnswerBlock, slug, "ai_answer", options, related="agent")
    _look_for_agent("ai_answer", block.agent.slug)
    return AnswerShell(
        dom_id=block.dom_id,
        agent=block.agent.slug,
        allow_follow_up=block.allow_follow_up,
        show_references=block.show_references,
        references_label=block.references_label,
        show_feedback=block.show_feedback and block.agent.feedback_enabled,  # S71
        empty_message=block.empty_message,
    )


def question_shell(slug: str | None, options: Mapping[str, Any]) -> QuestionShell:
    """Return the shell of the saved block ``slug``, or of ``options`` if it is ``None``."""
    if slug is None:
        given = dict(_checked("ai_question", options))
        _checked_id("ai_question", "target", given["target"])
        if not _is_path(given.get("target_url", "")):
            raise TemplateSyntaxError(
                f"ai_question: target_url must be a path of this site such as '/ask/', "
                f"not {given['target_url']!r}."
            )
        _look_for_agent("ai_question", given.get("agent", ""))
        given["suggested_questions"] = _lines(given.get("suggested_questions", ()))
        given["warning"] = _warning(given["target"], given.get("target_url", ""))
        return QuestionShell(**given)
    block = _saved(QuestionBlock, slug, "ai_question", options, related="target__agent")
    _look_for_agent("ai_question", block.target.agent.slug)
    # The script asks the URL for its origin as well; this keeps the markup clean.
    target_url = block.target_url if _is_path(block.target_url) else ""
    return QuestionShell(
        target=block.target.dom_id,
        target_url=target_url,
        agent=block.target.agent.slug,
        placeholder=block.placeholder,
        submit_label=block.submit_label,
        suggested_questions=_lines(block.suggested_questions),
        warning=_warning(block.target.dom_id, target_url),
    )


def sources_shell(slug: str | None, options: Mapping[str, Any]) -> SourcesShell:
    """Return the shell of the saved block ``slug``, or of ``options`` if it is ``None``."""
    if slug is None:
        given = _checked("ai_sources", options)
        _checked_id("ai_sources", "target", given["target"])
        return SourcesShell(**given)
    block = _saved(SourcesBlock, slug, "ai_sources", options, related="target")
    return SourcesShell(target=block.target.dom_id, label=block.label)


def _saved(model: Any, slug: str, tag: str, options: Mapping[str, Any], *, related: str) -> Any:
    if options:
        raise TemplateSyntaxError(
            f"{tag} takes the slug of a saved block or options, not both: "
            f"got {slug!r} and {', '.join(sorted(options))}."
        )
    if not slug:
        raise UnknownBlock(
            f'{tag}: the slug is empty. A slug stands in quotes, as in {{% {tag} "main" %}}; '
            "a name without them is a variable of the template."
        )
    block = model.objects.select_related(related).filter(slug=slug).first()
    if block is None:
        raise UnknownBlock(f"{tag}: no {model._meta.verbose_name} has the slug {slug!r}.")
    return block


def _look_for_agent(tag: str, slug: str) -> None:
    """With ``DEBUG``, raise ``UnknownBlock`` if the agent named by ``slug`` cannot be asked."""
    if not settings.DEBUG or not slug:
        return
    enabled = dict(Agent.objects.values_list("slug", "enabled"))
    if not enabled.get(slug):
        why = "is switched off" if slug in enabled else "does not exist"
        others = ", ".join(repr(other) for other, is_on in enabled.items() if is_on)
        raise UnknownBlock(f"{tag}: the agent {slug!r} {why}. Agents here: {others or 'none'}.")


def _warning(target: str, target_url: str) -> str:
    if not settings.DEBUG or target_url:
        return ""
    return (
        f"ai_question: this page has no Answer block with the DOM id {target!r}, and no "
        "target_url leads to one. The id of a saved block is shown in the admin."
    )


def refuse_more(tag: str, more: Sequence[Any]) -> None:
    """Raise if the tag was given a second text; Django would not say what is right."""
    if more:
        raise TemplateSyntaxError(f"{_usage(tag)}; too much: {', '.join(map(repr, more))}.")


def _usage(tag: str) -> str:
    needed, known = OPTIONS[tag]
    others = ", ".join(name for name in known if name != needed)
    return f"{tag} takes the slug of a saved block, or {needed!r} and any of {others}"


def _checked(tag: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``options`` if their names and types are right, else raise with the right ones."""
    needed, known = OPTIONS[tag]
    unknown = sorted(set(options) - set(known))
    if unknown or not options.get(needed):
        wrong = f"unknown: {', '.join(unknown)}" if unknown else f"{needed!r} is missing or empty"
        raise TemplateSyntaxError(f"{_usage(tag)}; {wrong}.")
    for name, value in options.items():
        # Texts that a view marked for translation are promises, not strings.
        if not isinstance(value, known[name]) and not (
            known[name] is str and isinstance(value, Promise)
        ):
            raise TemplateSyntaxError(
                f"{tag}: {name} must be {_ARTICLES[known[name]]}, not {value!r}."
            )
    return options


_ARTICLES = {str: "a text", bool: "True or False"}


def _checked_id(tag: str, name: str, value: str) -> str:
    if not _DOM_ID.fullmatch(value):
        raise TemplateSyntaxError(
            f"{tag}: {name} must be a DOM id (a letter, then letters, digits, '-', '_', '.' "
            f"or ':'), not {value!r}."
        )
    return value


def _is_path(url: str) -> bool:
    """Whether ``url`` stays on this site; browsers read a backslash as a slash."""
    return not url or (url.startswith("/") and url[1:2] not in ("/", "\\") and url.isprintable())


def _lines(questions: str | Iterable[Any]) -> tuple[str, ...]:
    """Return suggested questions, given one per line or as a list."""
    lines = questions.splitlines() if isinstance(questions, str) else map(str, questions)
    return tuple(line.strip() for line in lines if line.strip())


def _header_name(meta_name: str) -> str:
    """Return the HTTP header that ``request.META`` holds as ``meta_name``."""
    return meta_name.removeprefix("HTTP_").replace("_", "-").title()


def _finished_texts() -> tuple[tuple[str, str], ...]:
    """The script picks one by the browser's own plural rules of the language."""
    return tuple(
        (
            category,
            ngettext(
                "Answer complete, %(count)s source", "Answer complete, %(count)s sources", number
            )
            % {"count": "{count}"},
        )
        for category, number in _PLURAL_EXAMPLES.items()
    )
