"""The commands of the workers that the tests run."""

import os
import sys
from pathlib import Path

import pytest

FAKE = Path(__file__).with_name("fake_worker.py")


@pytest.fixture
def fake_tool(tmp_path: Path) -> str:
    """An executable that behaves like an app's tool."""
    tool = tmp_path / "faketool"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {FAKE} "$@"\n')
    tool.chmod(0o755)
    return str(tool)


@pytest.fixture
def real_tool() -> str:
    """The tool that the variable STRATA_WORKER_TOOL names."""
    tool = os.environ.get("STRATA_WORKER_TOOL")
    if not tool:
        pytest.skip("STRATA_WORKER_TOOL is not set")
    return tool
