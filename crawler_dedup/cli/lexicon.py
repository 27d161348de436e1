"""``crawler-dedup lexicon``: a frozen file of how frequent words are in a collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup.cli.options import SettingsOption
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import config_or_exit
from crawler_dedup.cli.terminal import errors_as_messages
from crawler_dedup.inspection.corpus import read_texts
from crawler_dedup.signing import lexicon
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.text import Text

app = typer.Typer(no_args_is_help=True, help="Counts of a collection, for the schemes that weigh words by them.")


@app.command()
def build(
    source: Annotated[
        Path,
        typer.Argument(
            exists=True, file_okay=False, help="HTML or text files, or an index with DEDUP_STORE_TEXT = True."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="File to write.")] = Path("lexicon"),
    settings: SettingsOption = None,
) -> None:
    """Count in how many documents each word stands, and write that as a frozen file for DEDUP_LEXICON."""
    with errors_as_messages(), progress_bars() as start:
        signer = Signer(config_or_exit(settings))
        advance = start("reading", None)

        def texts() -> Iterator[Text]:
            for text in read_texts(source, signer):
                advance(1)
                yield text

        built = lexicon.build(texts())
        built.write(output)
    typer.echo(
        f"{output}: {built.documents:,} documents, {len(built.words):,} words, {len(built.shingles):,} common shingles;"
        f" digest {built.digest}."
    )
