"""Size and time of an installation: ``python -m benchmarks.installation [CHECKOUT ...]`` installs into new environments.

The environments are: Scrapy alone; Scrapy, trafilatura and jieba, with which the others are compared; this package; this
package with each extra; and the named checkouts. Sizes are those of the files of all packages on disk but pip, with the
compiled modules that pip makes. Times are those of ``pip install``, which depend on the network and on pip's cache.
``--extras`` names the extras; without any name, this package is installed without extras.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT = Path(__file__).parents[1]
BASE = ("scrapy", "trafilatura", "jieba")
EXTRAS = ("fast", "report", "review", "warc", "redis", "stem", "batch", "batch,spark")
_INSTALLERS = {"pip", "setuptools", "wheel"}


@dataclass(frozen=True)
class Installation:
    """The packages that ``pip install`` has installed into an empty environment.

    Attributes:
        seconds: time of the installation.
        megabytes: the size of each package on disk, by its name.
    """

    seconds: float
    megabytes: Mapping[str, float]

    @property
    def total(self) -> float:
        """The size of all packages in megabytes."""
        return sum(self.megabytes.values())


def install(requirements: Sequence[str | Path], folder: Path) -> Installation:
    """Install *requirements* into a new environment in *folder*."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    began = time.monotonic()
    subprocess.run([folder / "bin" / "pip", "install", "-q", *requirements], check=True)
    seconds = time.monotonic() - began
    (packages,) = folder.glob("lib/python*/site-packages")
    sizes = {
        distribution.name: _size(distribution)
        for distribution in distributions(path=[str(packages)])
        if distribution.name not in _INSTALLERS
    }
    return Installation(seconds, sizes)


def _size(package: Distribution) -> float:
    paths = (Path(str(file.locate())) for file in package.files or ())
    return sum(path.stat().st_blocks for path in paths if path.exists()) * 512 / 1e6


def print_installations(installations: Mapping[str, Installation], base: Installation) -> None:
    """Print each installation, and its packages that are not in *base*."""
    console = Console(width=100)
    table = Table("installed", "packages", "MB", "seconds", "packages more", "MB more")
    for name, installation in installations.items():
        additional = set(installation.megabytes) - set(base.megabytes)
        table.add_row(
            escape(name),
            f"{len(installation.megabytes)}",
            f"{installation.total:.1f}",
            f"{installation.seconds:.0f}",
            f"{len(additional)}",
            f"{installation.total - base.total:.1f}",
        )
    console.print(table)
    for name, installation in installations.items():
        sizes = {package: size for package, size in installation.megabytes.items() if package not in base.megabytes}
        listed = sorted(sizes.items(), key=lambda item: -item[1])
        print(f"{name}:", ", ".join(f"{package} {size:.1f}" for package, size in listed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="*", metavar="CHECKOUT", help="Other versions to compare with.")
    parser.add_argument("--extras", nargs="*", default=EXTRAS)
    given = parser.parse_args()
    wanted: dict[str, Sequence[str | Path]] = {
        "scrapy": ["scrapy"],
        "base": BASE,
        "crawler-dedup": [ROOT],
        **{f"crawler-dedup[{extra}]": [f"{ROOT}[{extra}]"] for extra in given.extras},
        **{str(path): [path.resolve()] for path in given.checkouts},
    }
    with tempfile.TemporaryDirectory() as folder:
        installations = {
            name: install(requirements, Path(folder) / str(number))
            for number, (name, requirements) in enumerate(wanted.items())
        }
        print_installations(installations, installations["base"])


if __name__ == "__main__":
    main()
