from enum import Enum
from pathlib import Path

import pytest

from crawler_dedup import Config, ConfigError
from crawler_dedup.cli.project import settings_reference

SETTINGS = Path(__file__).parents[1] / "docs/reference/settings.md"


def test_an_invalid_value_is_named_with_the_allowed_ones() -> None:
    for name, value in [
        *(("DEDUP_MAX_DISTANCE", value) for value in (8, "three", 2.5, True, None)),
        *(("DEDUP_EXPIRE_DAYS", value) for value in (-1, "nan")),
        *(("DEDUP_SCOPE", value) for value in ("host", "")),
        *(("DEDUP_ACTION", "delete"), ("DEDUP_DIR", ""), ("DEDUP_FRESH", "perhaps"), ("DEDUP_MAX_BYTES", 0)),
        *(("DEDUP_TIMEOUT", float("inf")), ("DEDUP_MAP_SIZE", 10**30)),
    ]:
        with pytest.raises(ConfigError) as caught:
            Config.from_settings({name: value})
        assert str(caught.value).startswith(f"{name} = {value!r} is not allowed; it takes ")


def test_the_settings_page_has_the_allowed_values_of_the_error_message() -> None:
    for name in [name for name in Config.__dataclass_fields__ if name != "journal"]:
        with pytest.raises(ConfigError) as caught:
            Config(**{name: None})  # type: ignore[arg-type]
        allowed = str(caught.value).partition(" is not allowed; it takes ")[2]
        section = settings_reference().split(f"## DEDUP_{name.upper()}\n")[1].split("\n## ")[0]
        assert f"; takes {allowed}\n" in section


LIST = "`crawler-dedup settings` lists all."


def test_an_unknown_setting_is_reported_as_a_typing_error() -> None:
    for name, hint in [
        ("ACTON", "did you mean DEDUP_ACTION?"),
        ("DISTANCE", "did you mean DEDUP_MAX_DISTANCE?"),
        ("MAX_BYTE", "did you mean DEDUP_MAX_BYTES?"),
        ("MAXDISTANCE", "did you mean DEDUP_MAX_DISTANCE?"),
        ("DISTANCE_MAX", "did you mean DEDUP_MAX_DISTANCE?"),
        ("TOKENISER", "did you mean DEDUP_TOKENIZER?"),
        ("BYTES", "did you mean DEDUP_MAX_BYTES?"),
        ("DAYS", "did you mean DEDUP_EXPIRE_DAYS?"),
        ("MAX", "did you mean DEDUP_MAX_DISTANCE or DEDUP_MAX_BYTES?"),
        *((name, LIST) for name in ("MODE", "FETCH", "MAX_AGE", "MAX_LENGTH", "", "XQZ")),
    ]:
        with pytest.raises(ConfigError) as caught:
            Config.from_settings({f"DEDUP_{name}": 3, "DOWNLOAD_DELAY": 1})
        assert str(caught.value).startswith(f"Unknown setting DEDUP_{name}; {hint}")
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
    assert SETTINGS.read_text(encoding="utf-8") == settings_reference(), f"run: crawler-dedup settings > {SETTINGS}"


def test_a_member_of_an_enum_is_read_as_its_value() -> None:
    class Word(str, Enum):  # noqa: UP042  (a user may have one)
        DOMAIN = "domain"
        MARK = "mark"
        PATH = "package.function"

    config = Config(scope=Word.DOMAIN, action=Word.MARK, extractor=Word.PATH)  # type: ignore[arg-type]
    assert [*map(repr, (config.scope, config.action, config.extractor))] == ["'domain'", "'mark'", "'package.function'"]
