"""Registering tools for agents."""

import pytest
from langchain_core.tools import tool

from ai_answers.exceptions import ConfigurationError
from ai_answers.tools import (
    get_tool,
    is_required,
    register_tool,
    registered_tools,
    unregister_tool,
)


@tool
def tides(harbour: str) -> str:
    """Tell the tides."""
    return harbour


@tool
def ferries(harbour: str) -> str:
    """Tell the ferries."""
    return harbour


@pytest.fixture(autouse=True)
def tidy():
    before = set(registered_tools())
    yield
    for name in set(registered_tools()) - before:
        unregister_tool(name)


def test_a_tool_is_found_by_its_own_name_or_a_given_one():
    register_tool(tides)
    renamed = register_tool(ferries, "timetable", required=True)

    assert get_tool("tides") is tides
    assert get_tool("timetable") is renamed
    assert renamed.name == "timetable"  # what the model calls it
    assert get_tool("ferries") is None
    assert is_required("timetable")
    assert not is_required("tides")
    assert {"tides", "timetable"} <= set(registered_tools())


def test_an_unknown_tool_is_none():
    assert get_tool("nowhere") is None
    assert not is_required("nowhere")
    unregister_tool("nowhere")


@pytest.mark.parametrize("name", ["two words", "x" * 65, "naïve", "search"])
def test_a_name_no_provider_takes_is_refused(name):
    with pytest.raises(ConfigurationError, match=name):
        register_tool(tides, name)


def test_two_tools_cannot_share_a_name():
    register_tool(tides)
    register_tool(tides)  # imported twice: no harm
    with pytest.raises(ConfigurationError, match="tides"):
        register_tool(ferries, "tides")


def test_what_is_registered_cannot_be_changed_behind_the_registrys_back():
    registered_tools().append("tides")
    assert "tides" not in registered_tools()


def test_a_dotted_path_is_imported_at_the_first_use():
    register_tool(f"{__name__}.ferries", "boats")
    assert "boats" in registered_tools()
    assert get_tool("boats").name == "boats"
    assert get_tool("boats") is get_tool("boats")
    register_tool("nowhere.at.all", "lost")
    with pytest.raises(ConfigurationError, match="'nowhere.at.all'"):
        get_tool("lost")


def test_a_dotted_path_needs_a_name():
    with pytest.raises(ConfigurationError, match="cannot be called ''"):
        register_tool(f"{__name__}.ferries")
