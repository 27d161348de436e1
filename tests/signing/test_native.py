"""Whether the native core is used, with modules that stand in for it, in processes of their own: it is loaded once."""

from __future__ import annotations

import pytest

import crawler_dedup.signing.blocks  # noqa: F401  (its functions have revisions, and those that it imports)
from crawler_dedup.signing.native import REPLACEABLE
from tests.support.indexing import run

NOT_USED = "The native core is not used: "
ADVICE = (
    "To use the core, install that of this version again (pip install ./native in its checkout); to do without it, uninstall"
    " crawler-dedup-native.\n"
)
IN_PYTHON = f". Pages are signed in Python, which gives the same signatures and takes longer. {ADVICE}"
REVISION = REPLACEABLE["read_outline"].revision
OUTLINE = """
    from crawler_dedup.signing import native, outline, parsing
    print(native.describe_core().partition(" (")[0])
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


def core(content: str, revision: int = REVISION) -> str:
    """Return a program that installs a core with *content*, and with the outline in *revision*."""
    beginning = f"VERSION = '1'\nREVISIONS = {{'read_outline': {revision}}}\ndef read_characters_with(describe): pass\n"
    return module("crawler_dedup_native", "") + module("crawler_dedup_native.core", beginning + content)


@pytest.mark.parametrize(
    ("before", "errors"),
    [
        ("    import sys; sys.modules['crawler_dedup_native'] = None\n", ""),
        (
            module("crawler_dedup_native", "") + module("crawler_dedup_native.core", "VERSION = '1'"),
            f"{NOT_USED}it does not say which revisions of functions it has{IN_PYTHON}",
        ),
        (
            module("crawler_dedup_native", ""),
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
    content = """
REVISIONS['read_blocks'] = %s
def read_blocks(**terms): return lambda packed: 1 / 0
"""
    assert run(core(content % REPLACEABLE["read_blocks"].revision) + program) == (0, "0\n", "")


def test_python_runs_a_function_in_which_the_core_lags_behind_and_what_reads_its_result() -> None:
    content = (
        "def read_outline(**terms): raise SystemExit\nfind_main_blocks = join_text = join_shown_text = read_outline"
    )
    lagging = (
        core(content, REVISION - 1)
        + """
    core = sys.modules["crawler_dedup_native.core"]
    from crawler_dedup.signing import maintext, native, outline, parsing
    for name, replaced in native.REPLACEABLE.items():
        if name != "read_outline":
            core.REVISIONS[name] = replaced.revision
    page = outline.read_outline(parsing.parse(b"<p>" + 9 * b"Words of a long text. "))
    print(maintext.join_text(maintext.find_main_blocks(page))[:16])
    print(native.describe_core(), native.count_failures())
"""
    )
    status, output, errors = run(lagging)
    lagging_functions = "find_main_blocks, join_shown_text, join_text, pack_blocks, read_outline"
    assert (status, output) == (0, f"Words of a long \nnative core 1 (Python: {lagging_functions}) 0\n")
    assert errors.startswith("The native core has another revision of read_outline")
    assert len(errors.splitlines()) == 1
