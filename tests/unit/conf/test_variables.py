"""The possible values of a variable: all values that a configuration may assign, or None if they are unknown."""

import pytest

from tests.support.tables import table
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import read_configuration
from tuneproof.conf.upstreams import targets_of
from tuneproof.conf.variables import possible_values


@pytest.mark.parametrize(("values", "http"), table("variables"))
def test_all_possible_values_of_a_variable_are_found_or_it_is_unknown(values: str, http: str) -> None:
    source = Dump({"nginx.conf": f"events {{ }}\nhttp {{ {http} }}\n"}, is_complete=False)
    [target] = targets_of(read_configuration(source).main)
    expected = None if values == "unknown" else {value.strip("'") for value in values.split()}
    assert possible_values("$b", target.block) == expected
