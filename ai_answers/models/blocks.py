"""Blocks placed on pages: where a visitor asks, reads the answer, and sees its sources.

Blocks hold configuration only. An answer never is part of a page; it comes through the API.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from .agents import Agent


class Block(models.Model):
    name = models.CharField(_("name"), max_length=200)
    slug = models.SlugField(
        _("slug"), max_length=100, unique=True, help_text=_("What the template tag is given.")
    )

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AnswerBlock(Block):
    instance_uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    agent = models.ForeignKey(
        Agent, models.CASCADE, verbose_name=_("agent"), limit_choices_to={"enabled": True}
    )
    allow_follow_up = models.BooleanField(_("allow follow-up questions"), default=True)
    show_references = models.BooleanField(_("show the sources below the answer"), default=True)
    references_label = models.CharField(
        _("heading of the sources"), max_length=100, blank=True, help_text=_("Empty: “Sources”.")
    )
    show_feedback = models.BooleanField(_("ask for feedback"), default=True)
    empty_message = models.CharField(
        _("text before the first question"), max_length=500, blank=True
    )

    class Meta(Block.Meta):
        verbose_name = _("answer block")
        verbose_name_plural = _("answer blocks")

    @property
    def dom_id(self) -> str:
        """The id of the block's element, the same wherever it is placed (S77, S118)."""
        return f"ai-answers-answer-{self.instance_uuid}"


class QuestionBlock(Block):
    target = models.ForeignKey(
        AnswerBlock,
        models.CASCADE,
        verbose_name=_("answer block"),
        related_name="question_blocks",
        help_text=_("Where the answer appears."),
    )
    target_url = models.CharField(
        _("page of the answer block"),
        max_length=500,
        blank=True,
        help_text=_("Path to go to when the answer block is not on the same page, such as /ask/."),
    )
    placeholder = models.CharField(_("placeholder"), max_length=200, blank=True)
    submit_label = models.CharField(_("label of the button"), max_length=100, blank=True)
    suggested_questions = models.TextField(
        _("suggested questions"), blank=True, help_text=_("One per line.")
    )

    class Meta(Block.Meta):
        verbose_name = _("question block")
        verbose_name_plural = _("question blocks")


class SourcesBlock(Block):
    target = models.ForeignKey(
        AnswerBlock,
        models.CASCADE,
        verbose_name=_("answer block"),
        related_name="sources_blocks",
        help_text=_("Whose sources are shown."),
    )
    label = models.CharField(
        _("heading"), max_length=100, blank=True, help_text=_("Empty: “Sources”.")
    )

    class Meta(Block.Meta):
        verbose_name = _("sources block")
        verbose_name_plural = _("sources blocks")
