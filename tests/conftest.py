"""Fixtures that every layer uses."""

import pytest

from tests.support.app import Service


@pytest.fixture
def service(tmp_path, monkeypatch):
    """The real application over a fresh store, without a hub."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path)
    yield service
    service.close()
