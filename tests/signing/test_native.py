"""Whether the native core is used, with modules that stand in for it, in processes of their own: it is loaded once."""

from __future__ import annotations

import pytest

from crawler_dedup.signing.behaviour import BEHAVIOUR
from crawler_dedup.signing.native import _INTERFACE as INTERFACE
from tests.support.indexing import run

NOT_USED = "The native core is not used: "
ADVICE = (
    "To use the core, install that of this version again (pip install ./native in its checkout); to do without it, uninstall"
    " crawler-dedup-native.\n"
)
IN_PYTHON = f". Pages are signed in Python, which gives the same signatures and takes longer. {ADVICE}"
PACKAGE = f"from crawler_dedup.signing.behaviour import BEHAVIOUR\nINTERFACE = {INTERFACE}"
OUTLINE = """
    from crawler_dedup.signing import native, outline, parsing
    print(native.describe_core())
    for _ in range(2):
        print(outline.read_outline(parsing.parse(b"<p>text")).blocks[0].text)
    print(native.count_failures())
"""


def module(name: str, content: str) -> str:
    return f"""
    import sys, types
    module = sys.modules[{name!r}] = types.ModuleType({name!r})
    module.__path__ = []
    exec({content!r}, module.__dict__)
"""


def core(content: str) -> str:
    """Return a program that installs a package with the right behaviour, and a core with *content*."""
    return module("crawler_dedup_native", PACKAGE) + module(
        "crawler_dedup_native.core", f"VERSION = '1'\ndef read_characters_with(describe): pass\n{content}"
    )


@pytest.mark.parametrize(
    ("before", "errors"),
    [
        ("    import sys; sys.modules['crawler_dedup_native'] = None\n", ""),
        (
            module("crawler_dedup_native", "BEHAVIOUR = 5"),
            f"{NOT_USED}it has behaviour 5, and this version of crawler-dedup {BEHAVIOUR}{IN_PYTHON}",
        ),
        (
            module("crawler_dedup_native", "from crawler_dedup.signing.behaviour import BEHAVIOUR"),
            f"{NOT_USED}it has interface 0, and this version of crawler-dedup {INTERFACE}{IN_PYTHON}",
        ),
        (
            module("crawler_dedup_native", PACKAGE),
            f"{NOT_USED}its installation is not complete (No module named 'crawler_dedup_native.core'){IN_PYTHON}",
        ),
    ],
)
def test_a_core_that_does_not_fit_is_refused_once(before: str, errors: str) -> None:
    assert run(before + OUTLINE) == (0, "Python\ntext\ntext\n0\n", errors)


def test_a_core_that_fits_is_used() -> None:
    content = """
class Block: text = "of the core"
class Outline: blocks = [Block]
def read_outline(**terms): return lambda tree: Outline
"""
    assert run(core(content) + OUTLINE) == (0, "native core 1\nof the core\nof the core\n0\n", "")


def test_a_core_can_be_switched_off() -> None:
    off = "    import os; os.environ['CRAWLER_DEDUP_NATIVE'] = '0'\n"
    assert run(off + core("") + OUTLINE) == (0, "Python\ntext\ntext\n0\n", "")


def test_where_a_core_fails_python_takes_over_and_the_first_failure_is_logged() -> None:
    status, output, errors = run(core("def read_outline(**terms): return lambda tree: 1 / 0") + OUTLINE)
    assert (status, output) == (0, "native core 1\ntext\ntext\n2\n")
    assert errors.count("The native core has failed in read_outline; Python does it instead: ") == 1


@pytest.mark.parametrize("content", ["def read_outline(): pass", ""])
def test_where_a_function_of_a_core_has_another_signature_python_takes_over_and_the_log_says_what_to_do(
    content: str,
) -> None:
    status, output, errors = run(core(content) + OUTLINE)
    assert (status, output) == (0, "native core 1\ntext\ntext\n1\n")
    assert errors.startswith(
        "The native core was made for another version of crawler-dedup: read_outline in it does not"
    )
    assert errors.endswith(f", and Python does it instead. {ADVICE}")


def test_a_tree_that_the_core_does_not_support_is_no_failure() -> None:
    content = """
class Unsupported(Exception): pass
def read_outline(**terms):
    def read(tree): raise Unsupported
    return read
"""
    assert run(core(content) + OUTLINE) == (0, "native core 1\ntext\ntext\n0\n", "")


def test_where_python_raises_as_well_the_core_has_not_failed() -> None:
    program = """
    from crawler_dedup.signing import blocks, native
    try:
        blocks.read_blocks(b"cut off")
    except ValueError:
        print(native.count_failures())
"""
    assert run(core("def read_blocks(**terms): return lambda packed: 1 / 0") + program) == (0, "0\n", "")
