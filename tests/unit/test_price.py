"""The pure half of benchmarks/price.py: a manifest without what was stated since a version."""

from __future__ import annotations

import yaml
from packaging.version import Version

from benchmarks.price import Taken, without_later

TEXT = """\
remove: [a/, {path: b/, since: 0.5.20}, {path: c/, since: 0.5.17, until: 0.5.17}]
facts:
  values:
    "*.old": null
    "*.new": {value: false, since: 0.5.20}
  options:
    - {names: [x], absent: [y], since: 0.5.20}
edits:
  - drop_statement: |
      one()
    in: pkg.m
    since: 0.5.23
  - {drop_entry: b, in: pkg.m, until: 0.5.13}
"""


def test_what_began_later_leaves_and_nobody_knows_what_ends() -> None:
    taken = Taken()
    left = without_later(yaml.compose(TEXT), Version("0.5.17"), taken)
    assert yaml.safe_load(yaml.serialize(left)) == {
        "remove": ["a/", {"path": "c/", "since": "0.5.17"}],
        "facts": {"values": {"*.old": None}},
        "edits": [{"drop_entry": "b", "in": "pkg.m", "until": "0.5.13"}],
    }
    assert taken.begun == {"remove": 1, "values": 1, "options": 1, "edits": 1}
    assert (taken.lines, taken.ended) == (7, 1)
