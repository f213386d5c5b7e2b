"""Trials: an edit is tried in this process, which has read its libraries and compiled the original already.

Most tests of edits are about what a trial finds. Those about the process of a trial, its limits and its end, start one.
"""

import json
from functools import lru_cache
from unittest import mock

from jt_edu.lens import verify_edit
from jt_edu.lens.edit_process import Fault
from jt_edu.lens.sandbox import Checked, Refused


class Unlimited(verify_edit.Budget):
    """Seconds that are counted; nobody is ended for them."""

    def _tell_the_system(self, end):
        pass


class Here:
    """In the place of `edit_process._Process`."""

    budget = Unlimited

    def __enter__(self):
        return self

    def __exit__(self, *why):
        pass

    def do(self, job, seconds):
        with mock.patch.object(verify_edit, "Checked", lambda source, reads: checked(source, tuple(reads))):
            try:
                return verify_edit.examine(json.loads(json.dumps(job)), lambda **_: None, self.budget(seconds))
            except Refused as refused:
                raise Fault(str(refused), refused.line) from None


@lru_cache(maxsize=32)
def checked(source, reads):
    """Many tests edit the same original: it is compiled with checks once."""
    return Checked(source, reads)
