from __future__ import annotations

from enum import Enum
from pathlib import Path

import pytest

from crawler_dedup import Config, ConfigError
from crawler_dedup.cli.settings import settings_reference

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEDUP_ACTION", "delete"),
        ("DEDUP_MAX_DISTANCE", 8),
        ("DEDUP_MAX_DISTANCE", "three"),
        ("DEDUP_MAX_DISTANCE", 2.5),
        ("DEDUP_MAX_DISTANCE", True),
        ("DEDUP_MAX_DISTANCE", None),
        ("DEDUP_EXPIRE_DAYS", -1),
        ("DEDUP_EXPIRE_DAYS", "nan"),
        ("DEDUP_SCOPE", "host"),
        ("DEDUP_SCOPE", ""),
        ("DEDUP_DIR", ""),
        ("DEDUP_FRESH", "perhaps"),
        ("DEDUP_MAX_BYTES", 0),
        ("DEDUP_TIMEOUT", float("inf")),
        ("DEDUP_MAP_SIZE", 10**30),
    ],
)
def test_an_invalid_value_is_named_with_the_allowed_ones(name: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({name: value})
    assert str(caught.value).startswith(f"{name} = {value!r} is not allowed; it takes ")


@pytest.mark.parametrize("name", [name for name in Config.__dataclass_fields__ if name != "journal"])
def test_the_settings_page_has_the_allowed_values_of_the_error_message(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(**{name: None})  # type: ignore[arg-type]
    allowed = str(caught.value).partition(" is not allowed; it takes ")[2]
    section = settings_reference().split(f"## DEDUP_{name.upper()}\n")[1].split("\n## ")[0]
    assert f"; takes {allowed}\n" in section


def test_a_range_is_written_for_people() -> None:
    for settings, allowed in (
        ({"DEDUP_MAX_DISTANCE": 9}, "0 to 7."),
        ({"DEDUP_PROCESSES": -1}, "0 to 64; 0: on the event loop."),
        ({"DEDUP_TIMEOUT": 0}, "0.01 to 86,400."),
        ({"DEDUP_MAP_SIZE": 1}, "2^20 to 2^46."),
        ({"DEDUP_SETTLE": "never"}, '"item", "callback" or "manual".'),
    ):
        with pytest.raises(ConfigError) as caught:
            Config.from_settings(settings)
        assert str(caught.value).endswith(f" is not allowed; it takes {allowed}")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("DEDUP_ACTON", "Unknown setting DEDUP_ACTON; did you mean DEDUP_ACTION?"),
        ("DEDUP_DISTANCE", "Unknown setting DEDUP_DISTANCE; did you mean DEDUP_MAX_DISTANCE?"),
        ("DEDUP_MAX_BYTE", "Unknown setting DEDUP_MAX_BYTE; did you mean DEDUP_MAX_BYTES?"),
        ("DEDUP_MAXDISTANCE", "Unknown setting DEDUP_MAXDISTANCE; did you mean DEDUP_MAX_DISTANCE?"),
        ("DEDUP_DISTANCE_MAX", "Unknown setting DEDUP_DISTANCE_MAX; did you mean DEDUP_MAX_DISTANCE?"),
        ("DEDUP_TOKENISER", "Unknown setting DEDUP_TOKENISER; did you mean DEDUP_TOKENIZER?"),
        ("DEDUP_BYTES", "Unknown setting DEDUP_BYTES; did you mean DEDUP_MAX_BYTES?"),
        ("DEDUP_DAYS", "Unknown setting DEDUP_DAYS; did you mean DEDUP_EXPIRE_DAYS?"),
        ("DEDUP_MODE", "Unknown setting DEDUP_MODE; `crawler-dedup settings` lists all."),
        ("DEDUP_FETCH", "Unknown setting DEDUP_FETCH; `crawler-dedup settings` lists all."),
        ("DEDUP_MAX_AGE", "Unknown setting DEDUP_MAX_AGE; `crawler-dedup settings` lists all."),
        ("DEDUP_MAX_LENGTH", "Unknown setting DEDUP_MAX_LENGTH; `crawler-dedup settings` lists all."),
        ("DEDUP_MAX", "Unknown setting DEDUP_MAX; did you mean DEDUP_MAX_DISTANCE or DEDUP_MAX_BYTES?"),
        ("DEDUP_", "Unknown setting DEDUP_; `crawler-dedup settings` lists all."),
        ("DEDUP_XQZ", "Unknown setting DEDUP_XQZ; `crawler-dedup settings` lists all."),
    ],
)
def test_an_unknown_setting_is_reported_as_a_typing_error(name: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({name: 3, "DOWNLOAD_DELAY": 1})
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).count("DEDUP_") <= 4


def test_strings_of_the_command_line_are_read() -> None:
    config = Config.from_settings(
        {"DEDUP_ENABLED": "False", "DEDUP_FRESH": "1", "DEDUP_MAX_DISTANCE": "3", "DEDUP_TIMEOUT": "0.5"}
    )
    assert (config.enabled, config.fresh, config.max_distance, config.timeout) == (False, True, 3, 0.5)


def test_the_defaults_are_allowed() -> None:
    assert Config.from_settings({}) == Config()


def test_a_scope_can_be_a_function() -> None:
    assert callable(Config(scope=lambda request, response: "x").scope)


def test_the_reference_of_settings_is_current() -> None:
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == settings_reference(), (
        "run: crawler-dedup settings > docs/settings.md"
    )


def test_a_member_of_an_enum_is_read_as_its_value() -> None:
    class Word(str, Enum):  # noqa: UP042  (a user may have one)
        DOMAIN = "domain"
        MARK = "mark"
        PATH = "package.function"

    config = Config(scope=Word.DOMAIN, action=Word.MARK, extractor=Word.PATH)  # type: ignore[arg-type]
    assert [*map(repr, (config.scope, config.action, config.extractor))] == ["'domain'", "'mark'", "'package.function'"]
