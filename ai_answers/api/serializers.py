"""What a body may hold. Unknown fields are ignored; a wrong one is named in the error."""

from __future__ import annotations

from typing import Any

from django.utils.translation import get_supported_language_variant
from django.utils.translation import gettext as _
from rest_framework import serializers

from ..conf import app_settings
from ..rendering.sanitise import is_blank

RATINGS = {
    "up": "positive", "1": "positive", "positive": "positive",
    "down": "negative", "-1": "negative", "0": "negative", "negative": "negative",
}  # fmt: skip
MAX_COMMENT_CHARS = 2_000


class PageSerializer(serializers.Serializer):
    path = serializers.CharField(max_length=2_000, required=False, allow_blank=True, default="")


class QuestionSerializer(serializers.Serializer):
    """``{agent, question, conversation_id?, page?, language?, format?, request_id?}``."""

    agent = serializers.CharField(max_length=100, required=False, default="")
    question = serializers.CharField(trim_whitespace=False, allow_blank=True)
    conversation_id = serializers.UUIDField(required=False, allow_null=True, default=None)
    page = PageSerializer(required=False)
    language = serializers.CharField(max_length=35, required=False, allow_null=True, default=None)
    format = serializers.ChoiceField(["markdown", "html"], required=False, default="markdown")
    request_id = serializers.CharField(
        max_length=100, required=False, allow_null=True, default=None
    )

    def validate_question(self, question: str) -> str:
        if is_blank(question):
            raise serializers.ValidationError(_("Please write a question."))
        limit = app_settings().MAX_QUESTION_CHARS
        if len(question) > limit:
            raise serializers.ValidationError(
                _("Has %(length)d characters; at most %(limit)d are possible.")
                % {"length": len(question), "limit": limit}
            )
        return question

    def validate_language(self, language: str | None) -> str | None:
        if not language:
            return None
        try:
            return get_supported_language_variant(language)
        except LookupError:
            raise serializers.ValidationError(_("Is not a language of this site.")) from None

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["agent"] and attrs["conversation_id"] is None:
            raise serializers.ValidationError({"agent": _("Is needed for a new conversation.")})
        return attrs


class FeedbackSerializer(serializers.Serializer):
    """``{conversation_id, turn, rating, comment?, reasons?}`` (D33–D35)."""

    conversation_id = serializers.UUIDField()
    turn = serializers.IntegerField(min_value=1)
    rating = serializers.JSONField()
    comment = serializers.CharField(
        max_length=MAX_COMMENT_CHARS, required=False, allow_blank=True, default=""
    )
    reasons = serializers.ListField(
        # Codes, as the form of the blocks has them: free words go into the comment.
        child=serializers.SlugField(max_length=50),
        max_length=10,
        required=False,
        default=list,
    )

    def validate_rating(self, rating: Any) -> str:
        known = RATINGS.get(str(rating)) if isinstance(rating, str | int) else None
        if known is None or isinstance(rating, bool):
            raise serializers.ValidationError(
                _("Must be up, 1 or positive, or down, -1, 0 or negative.")
            )
        return known
