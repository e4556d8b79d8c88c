"""Patterns of Python for readers that know those of ECMA-262, as JSON Schema has them."""

import re
from typing import Any, Final

LONGEST: Final = 500  # characters

# What means the same to Python and to ECMA-262: escapes, classes, groups, quantifiers, and plain characters.
_ECMA: Final = re.compile(
    r"""(?x) (?:
        \\ [dwsnrt^$\\.*+?()\[\]{}|/]
      | \[ (?: \^ (?: [^\\\[\]^] | \\[nrt^$\\.*+?()\[\]{}|/-] )+
             | (?: [^\\\[\]^] | \\[dwsnrt^$\\.*+?()\[\]{}|/-] )+ ) \]
      | \( (?: \? [:=!] | (?! \? ) )  |  \)
      | (?: [*+?] | \{ \d+ (?: , \d* )? \} ) \?? (?! [*+?{] )
      | [^\\\[\](){}*+?]
    )*"""
)


def pattern_of(validator: Any) -> dict[str, str]:
    """The pattern of a `RegexValidator`, unless others may read it in another way."""
    regex, ignored = validator.regex, re.UNICODE | re.ASCII
    pattern = regex.pattern
    is_same = not validator.inverse_match and not regex.flags & ~ignored
    return {"pattern": pattern} if is_same and len(pattern) <= LONGEST and _ECMA.fullmatch(pattern) else {}
