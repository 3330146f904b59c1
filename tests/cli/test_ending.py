"""How commands end that could not do what they were asked."""

from __future__ import annotations

import pytest

from foldlog.cli.ending import FAILED, INTERRUPTED, told


def test_ctrl_c_that_a_library_made_an_error_of_is_ctrl_c(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As pydantic does, when it comes while the SDK is imported."""
    assert (
        told(ValueError('Error building "literal" validator: KeyboardInterrupt: ')) == INTERRUPTED
    )
    assert capsys.readouterr().err == ""
    assert told(ValueError("else")) == FAILED
