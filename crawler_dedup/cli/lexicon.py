"""``crawler-dedup lexicon``: write the frequencies of words in a collection to a file that does not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from crawler_dedup.cli.options import output_file_option, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import read_config
from crawler_dedup.inspection.corpus import read_texts
from crawler_dedup.signing.lexicon import build as build_lexicon
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.text import Text


@click.command()
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@output_file_option("lexicon", "File to write.")
@settings_option
def build(source: Path, output: Path, settings: Sequence[str]) -> None:
    """Count the documents that contain each word.

    SOURCE is a folder of HTML or text files, or an index that was made with DEDUP_STORE_TEXT = True. The counts are written
    to a file, which a scheme reads with its option lexicon=FILE.

    \b
    Examples:
      crawler-dedup lexicon build pages/
      crawler-dedup lexicon build .scrapy/dedup --output words.lexicon
      crawler-dedup lexicon build pages/ -s DEDUP_SCHEME="imatch stem=english"
    """
    with progress_bars() as start:
        signer = Signer(read_config(settings))
        advance = start("reading", None)

        def texts() -> Iterator[Text]:
            for text in read_texts(source, signer):
                advance(1)
                yield text

        built = build_lexicon(texts(), signer.scheme.features_of)
        built.write(output)
    click.echo(
        f"{output}: {built.documents:,} documents, {len(built.words):,} words, {len(built.shingles):,} common shingles;"
        f" tokenizer {signer.config.tokenizer}; digest {built.digest}."
    )
