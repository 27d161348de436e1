"""A transaction that leaves nothing: on a full disk, in a process that may take little memory, and if that is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.lmdb.storage import begin_scratch
from tests.support.disks import fill_up, mounted

BEGIN_WITH_LITTLE_ADDRESS_SPACE = """
import resource, sys
from pathlib import Path
from crawler_dedup.index.layout import OVERRIDES
from crawler_dedup.index.lmdb.storage import begin_scratch

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
with begin_scratch(Path(sys.argv[1])) as storage:
    storage.write(OVERRIDES, b"name", b"content")
    print(bytes(storage.read(OVERRIDES, b"name")))
"""


def test_a_full_disk_is_named_before_the_transaction_begins(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        fill_up(disk)
        with pytest.raises(IndexUnusable, match="No space left on device"), begin_scratch(disk):
            pass


@pytest.mark.skipif(os.name != "posix", reason="a file that is open keeps its name")
def test_nothing_is_left_of_a_transaction_whose_process_is_killed(tmp_path: Path) -> None:
    with begin_scratch(tmp_path):
        assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit the address space")
def test_a_transaction_begins_in_a_process_with_little_address_space(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BEGIN_WITH_LITTLE_ADDRESS_SPACE, str(tmp_path)]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert child.stdout == "b'content'\n", child.stderr
