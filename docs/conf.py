"""Make a site of the documentation: ``sphinx-build -E -W docs docs/_build``.

The pages are Markdown that GitHub shows, too. What only the site has is added here: the navigation, which is the table of
contents of README.md, the help of all commands, the docstrings of all public names, links to Scrapy's documentation, and
entries of the index, which the search shows first: what a comment ``<!-- search words: backup, move -->`` lists.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterator
from importlib import metadata

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.intersphinx import InventoryAdapter
from sphinx.pycode import ModuleAnalyzer

import crawler_dedup
from crawler_dedup.cli import LazyCommand, app

project = "crawler-dedup"
release = metadata.version(project)
root_doc = "README"
exclude_patterns = ["_build"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx", "sphinx.ext.napoleon"]
intersphinx_mapping = {"scrapy": ("https://docs.scrapy.org/en/latest/", "inventories/scrapy.inv")}
html_theme = "furo"
html_title = f"{project} {release}"
myst_heading_anchors = 4
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
napoleon_use_ivar = True  # attributes are a list


def navigation(contents: str) -> Iterator[str]:
    """Yield a hidden table of contents for each part of the page *contents*."""
    for part in re.split(r"^#+ ", contents, flags=re.MULTILINE):
        if pages := re.findall(r"\]\(([\w/-]+)\.md\)", part):
            yield "\n".join(["```{toctree}", ":hidden:", f":caption: {part.splitlines()[0]}", *pages, "```"])


def help_of(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield a section for *command*, or for each command of a group."""
    if isinstance(command, LazyCommand):
        command = command.load()
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from help_of(subcommand, click.Context(subcommand, context, name))
    else:
        yield f"### {context.command_path}\n\n```text\n{command.get_help(context)}\n```"


def docstrings() -> Iterator[str]:
    """Yield a directive for each public name."""
    for name in sorted(crawler_dedup.__all__, key=str.lower):
        value = getattr(crawler_dedup, name)
        if inspect.isclass(value):
            lines = [f".. autoclass:: crawler_dedup.{name}", "   :members:"]
        elif inspect.isfunction(value):
            lines = [f".. autofunction:: crawler_dedup.{name}"]
        else:  # autodoc does not find the comments behind values in the modules that they come from
            comments = ModuleAnalyzer.for_module(f"crawler_dedup.{crawler_dedup._MODULES[name]}").find_attr_docs()
            lines = [f".. py:data:: crawler_dedup.{name}", "", *(f"   {line}" for line in comments["", name])]
        yield "\n".join(["```{eval-rst}", *lines, "```"])


def index_entries(words: re.Match[str]) -> str:
    """Return a directive with a main entry of the index for each of the *words*."""
    return f"```{{index}} ! {words[1].replace(', ', ', ! ')}\n```"


def add_generated_parts(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add to *page* what only the site shows."""
    if page == root_doc:
        source += navigation(source[0])
    elif page == "reference/commands":
        source += ["## All commands", *help_of(app, click.Context(app, info_name=project, terminal_width=88))]
    elif page == "reference/api":
        source += ["## All public names", *docstrings()]
    source[:] = [re.sub("<!-- search words: (.*) -->", index_entries, "\n\n".join(source))]


def link_names_of_scrapy(app: Sphinx, doctree: nodes.document) -> None:
    """Link each setting, class and function of Scrapy that is named as code."""
    names = {
        name: item.uri
        for kind, items in InventoryAdapter(app.env).named_inventory["scrapy"].items()
        for name, item in items.items()
        if kind == "std:setting" or name.startswith("scrapy.")
    }
    for code in [*doctree.findall(nodes.literal)]:
        if (uri := names.get(code.astext())) and not isinstance(code.parent, nodes.reference):
            code.replace_self(nodes.reference("", "", code.deepcopy(), refuri=uri, internal=False))


def copy_first_page(app: Sphinx, error: Exception | None) -> None:
    """Make the table of contents the page of the folder."""
    if error is None:
        shutil.copyfile(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    """Register what is added to the pages."""
    app.connect("source-read", add_generated_parts)
    app.connect("doctree-read", link_names_of_scrapy)
    app.connect("build-finished", copy_first_page)
