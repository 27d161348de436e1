"""Labelled pairs of pages as files."""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def pair(a: str, b: str, label: int | str, **fields: Any) -> dict[str, Any]:
    return {"id_a": a, "id_b": b, "label": label, **fields}


def write_set(
    folder: Path, pages: Mapping[str, str], pairs: Iterable[Mapping[str, Any]], *, name: str = "", suffix: str = ""
) -> Path:
    """Write a set of *pages* (identifier → HTML) into *folder*, and return *folder*."""
    (folder / "html").mkdir(parents=True, exist_ok=True)
    documents = []
    for document_id, body in pages.items():
        (folder / "html" / f"{document_id}.html").write_text(body, encoding="utf-8")
        documents.append({"id": document_id, "url": f"http://a.org/{document_id}", "html": f"html/{document_id}.html"})
    write_lines(folder / f"{name}docs.jsonl{suffix}", documents)
    write_lines(folder / f"{name}pairs.jsonl{suffix}", pairs)
    return folder


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
