"""The lines of a tree's modules, and those that recorded probes executed.

The question has the `folder` of their data and the `package` under python/ that is asked about.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from verification.probes.executed import DATA
from verification.probes.request import received


def main() -> None:
    import coverage

    request = received()
    folder = Path(request.question["folder"])
    data = sorted(folder.glob(f"{DATA}.*"))
    recorded = coverage.Coverage(data_file=None, config_file=False, messages=False)
    recorded.get_data().add_lines(executed_lines(data))
    found = {}
    for path in sorted((request.tree / "python" / request.question["package"]).rglob("*.py")):
        try:
            _, lines, _, missing, _ = recorded.analysis2(str(path))
        except coverage.exceptions.CoverageException as error:
            logging.warning("%s: %s", path, error)
            continue
        missed = set(missing)
        found[path.relative_to(request.tree).as_posix()] = {
            "executed": [line for line in lines if line not in missed],
            "missing": missing,
        }
    request.answer({"files": found, "processes": len(data)})


def executed_lines(files: Iterable[Path]) -> dict[str, list[int]]:
    """path -> the lines that any of coverage's data files has of it.

    This reads the table that `Coverage.combine` joins, which is too slow for thousands of files. Its schema
    is documented by coverage: bit N of `numbits` is set if line N ran.
    """
    bits: dict[str, int] = defaultdict(int)
    for file in files:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            rows = connection.execute("select path, numbits from line_bits join file on file.id = file_id")
            for path, numbits in rows:
                bits[path] |= int.from_bytes(numbits, "little")
    return {path: [n for n in range(found.bit_length()) if found >> n & 1] for path, found in bits.items()}


if __name__ == "__main__":
    main()
