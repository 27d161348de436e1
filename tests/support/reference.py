"""Slow reference implementations of vectorised computations of the package."""

from xxhash import xxh3_64_intdigest

_MASK = (1 << 64) - 1


def slow_mixed(number: int) -> int:
    """Compute the finaliser of MurmurHash3 as its author published it."""
    number ^= number >> 33
    number = number * 0xFF51AFD7ED558CCD & _MASK
    number ^= number >> 33
    number = number * 0xC4CEB9FE1A85EC53 & _MASK
    return number ^ number >> 33


def hash_of(word: str) -> int:
    return xxh3_64_intdigest(word.encode("utf-8", "replace"))


def slow_polynomial(coefficients: list[int]) -> int:
    """Return the mixed polynomial modulo 2^64 with these *coefficients*, that of the highest power first."""
    powers = reversed(range(len(coefficients)))
    terms = (number * 0x9E3779B97F4A7C15**power for number, power in zip(coefficients, powers, strict=True))
    return slow_mixed(sum(terms) & _MASK)


def slow_shingles(units: list[str], width: int) -> set[int]:
    """Return the runs of *width* units, or a single shorter run, as polynomials of their hashes."""
    hashes = [hash_of(unit) for unit in units]
    width = min(width, len(hashes))
    return {slow_polynomial(hashes[at : at + width]) for at in range(len(hashes) - width + 1)} if hashes else set()
