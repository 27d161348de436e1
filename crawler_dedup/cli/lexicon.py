"""``crawler-dedup lexicon``: write the frequencies of words in a collection to a file that does not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import click

from crawler_dedup.cli.options import output_file_option, settings_option
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import progress_bars
from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.index.opening import has_index, open_index
from crawler_dedup.signing.lexicon import build as build_lexicon
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.text import Text, unpack_text
from crawler_dedup.system.files import read_maybe_gzipped
from crawler_dedup.works.documents import Document, list_documents, read_document


def read_texts(source: Path, signer: Signer) -> Iterator[Text]:
    """Yield every main text in *source*: a directory with an index, or a folder of documents, gzipped or not.

    Pages without a main text, beyond a limit of the settings or that cannot be read are left out.

    Raises:
        DedupError: *source* holds no main text.
    """
    count = 0
    for raw in _in_index(source) if has_index(source) else _in_folder(source, signer):
        if raw.strip():
            text = signer.text_of(raw)
            try:
                text.plain  # noqa: B018  (normalise it, which may raise)
            except BeyondLimits:
                continue
            count += 1
            yield text
    if not count:
        raise DedupError(
            f"{source} has no main texts. It must be a folder of HTML, text, Markdown or EPUB files, or an index that was"
            " made with DEDUP_STORE_TEXT = True."
        )


def _in_folder(folder: Path, signer: Signer) -> Iterator[str]:
    def read_page(content: bytes) -> Document:
        return Document(signer.main_text(content))

    for path in list_documents(folder):
        content = read_maybe_gzipped(path, signer.config.max_bytes + 1)
        if len(content) <= signer.config.max_bytes:
            with suppress(DedupError):
                yield read_document(str(path), content, read_page).text


def _in_index(directory: Path) -> Iterator[str]:
    with closing(open_index(directory)) as pages:
        yield from (unpack_text(record.page.text) for record in pages.records(handled_only=True))


@click.command()
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@output_file_option("lexicon", "File to write.")
@settings_option("DEDUP_TOKENIZER=bigrams")
def build(source: Path, output: Path, settings: Sequence[str]) -> None:
    """Count the documents that contain each word.

    SOURCE is a folder of HTML, text, Markdown or EPUB files, or an index that was made with DEDUP_STORE_TEXT = True. The
    counts are written to a file, which a scheme that weighs words by their rarity reads: DEDUP_SCHEME = "imatch
    lexicon=FILE", for example.

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
        f"{output}: {built.documents:,} documents, {len(built.words):,} words, {len(built.shingles):,} common word"
        f" sequences; tokenizer {signer.config.tokenizer}; checksum {built.digest}."
    )
