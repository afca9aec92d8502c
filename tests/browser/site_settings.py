"""The example site as it is, for visitors who ask more often than one may, and a quick start."""

from example_project.settings import *  # noqa: F403
from example_project.settings import AI_ANSWERS

AI_ANSWERS |= {"THROTTLE": {"burst": None, "sustained": None}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
