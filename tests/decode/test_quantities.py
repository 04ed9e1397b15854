from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangboard.decode.quantities import parse_quantity
from gangboard.domain.api_resource import DecodeError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8", "8"),
        ("0", "0"),
        ("500m", "0.5"),
        ("0.5", "0.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+2", "2"),
        ("-2", "-2"),
        ("1Ki", "1024"),
        ("1Mi", "1048576"),
        ("1.5Gi", "1610612736"),
        ("64Gi", "68719476736"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("1k", "1000"),
        ("1M", "1000000"),
        ("1G", "1000000000"),
        ("1T", "1000000000000"),
        ("1P", "1000000000000000"),
        ("1E", "1000000000000000000"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-1", "1.2"),
        ("1e+2", "100"),
        ("100n", "0.0000001"),
        ("250u", "0.00025"),
        ("9223372036854775807", "9223372036854775807"),
        ("0.1", "0.1"),
    ],
)
def test_a_quantity_is_read_exactly(text: str, expected: str) -> None:
    assert parse_quantity(text) == Decimal(expected)


@pytest.mark.parametrize(
    "text",
    ["", " ", "8 ", "eight", "1ki", "1GI", "1Gib", "--1", "1e", "1e1000", "1,5", "0x8", "٣", "NaN"],
)
def test_invalid_quantity_is_rejected_with_its_text(text: str) -> None:
    with pytest.raises(DecodeError, match="is not a quantity"):
        parse_quantity(text)


def test_long_text_is_rejected_and_cut_in_the_error() -> None:
    with pytest.raises(DecodeError) as refused:
        parse_quantity("9" * 100_000)
    assert len(str(refused.value)) < 100


def test_sixty_four_digits_times_exa_are_not_rounded() -> None:
    digits = "1234567890" * 6 + "12"
    assert parse_quantity(f"{digits}Ei") == int(digits) * 1024**6


@given(st.text(max_size=12))
def test_any_text_is_decoded_or_rejected(text: str) -> None:
    try:
        quantity = parse_quantity(text)
    except DecodeError:
        return
    assert quantity.is_finite()


@given(st.integers(min_value=0, max_value=10**15))
def test_milli_units_are_exact(milli: int) -> None:
    assert parse_quantity(f"{milli}m") * 1000 == milli
