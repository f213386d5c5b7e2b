"""Each test begins without casts, and without a level."""

import pytest

from jt_edu import amp
from jt_edu.base.context import current


@pytest.fixture(autouse=True)
def _nothing_is_cast():
    yield
    amp.init(enabled=False)
    current().rank_state.pop("amp", None)
