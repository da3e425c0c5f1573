"""The lines of a tree's modules, and those that recorded probes executed.

The question has the `folder` of their data and the `package` under python/ that is asked about.
"""

from __future__ import annotations

import logging
from pathlib import Path

from verification.probes.executed import DATA
from verification.probes.request import received


def main() -> None:
    import coverage

    request = received()
    folder = Path(request.question["folder"])
    data = sorted(str(path) for path in folder.glob(f"{DATA}.*"))
    recorded = coverage.Coverage(data_file=str(folder / "combined"), config_file=False, messages=False)
    recorded.combine(data, strict=False, keep=True)
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


if __name__ == "__main__":
    main()
