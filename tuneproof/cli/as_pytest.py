"""pytest, ending with the statuses that all of our commands end with: ``python -m tuneproof.cli.as_pytest``."""

import sys
from typing import Final

import pytest

from tuneproof.cli.main import INTERRUPTED
from tuneproof.errors import BadInputError

_STATUSES: Final = {
    pytest.ExitCode.USAGE_ERROR.value: BadInputError.exit_status,
    pytest.ExitCode.INTERRUPTED.value: INTERRUPTED,
}

if __name__ == "__main__":
    status = int(pytest.main())
    sys.exit(_STATUSES.get(status, status))
