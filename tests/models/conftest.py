"""torchvision, for a second opinion on networks."""

import pytest


@pytest.fixture
def torchvision(torch, monkeypatch):
    """The package; of a build for another build of torch, the layers can be imported without its compiled operators."""
    monkeypatch.setattr(torch.library, "register_fake", lambda *_, **__: lambda function: function)
    return pytest.importorskip("torchvision")
