"""Plural: 1 channel, 5,000 channels, 2 axes."""

from __future__ import annotations

import re

ODD = {"axis": "axes", "index": "indices"}
THINGS = """array axis batch byte channel class column coordinate device element example feature group head image index
    input kernel label letter line loss machine message milestone module name node number operator output pair parameter
    pixel place position rank row sample schedule sequence slice tensor thread"""


def plural(number: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> plural(1, "channel"), plural(5_000, "channel"), plural(0, "axis"), plural(2, "batch")
        ('1 channel', '5,000 channels', '0 axes', '2 batches')
    """
    return f"{number:,} {noun if number == 1 else _many(noun)}"


def singular(text: str) -> str:
    """A text that tells numbers of things, whatever the numbers are, with "1 channel" where it has "1 channels".

    Example:
        >>> singular("Conv(1, 8) takes 1 channels; found 21 channels of rank 1, and 'run 1 samples.npz'")
        "Conv(1, 8) takes 1 channel; found 21 channels of rank 1, and 'run 1 samples.npz'"
    """
    return OF_ONE.sub(lambda found: f"1 {ONE[found[1]]}" if found[1] else found[0], text)


def _many(noun: str) -> str:
    return ODD.get(noun) or noun + ("es" if noun.endswith(("ch", "s")) else "s")


ONE = {_many(noun): noun for noun in THINGS.split()}
QUOTED = r"""(?<!\w)b?'[^'\n]*'|"[^"\n]*"|`[^`\n]*`"""  # the learner's own words stay as they are
OF_ONE = re.compile(rf"{QUOTED}|(?<![\w.,-])1 ({'|'.join(ONE)})\b")
