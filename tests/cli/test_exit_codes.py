"""How commands end that could not do what they were asked."""

from __future__ import annotations

import pytest

from foldlog.cli.exit_codes import FAILED, INTERRUPTED, print_error


def test_ctrl_c_that_a_library_made_an_error_of_is_ctrl_c(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As pydantic does, when it comes while the SDK is imported."""
    assert (
        print_error(ValueError('Error building "literal" validator: KeyboardInterrupt: '))
        == INTERRUPTED
    )
    assert capsys.readouterr().err == ""
    assert print_error(ValueError("else")) == FAILED
