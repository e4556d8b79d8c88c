"""Says how a pytest run went, from its JUnit report, and fails when it skipped what should have run."""

import sys
from xml.etree import ElementTree

# Reasons that lie in what is tested, and not in what is missing here.
ALLOWED = {"the twin is met after the transaction", "ends a wait early, as it may"}


def verdict(report: str) -> int:
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skips = [(case, skip.get("message", "")) for case in cases if (skip := case.find("skipped")) is not None]
    missed = [(case, reason) for case, reason in skips if reason not in ALLOWED]
    for case, reason in missed:
        print(f"skipped: {case.get('classname')}::{case.get('name')}: {reason}")
    print(f"{len(cases) - len(failed) - len(skips)} passed, {len(failed)} failed, {len(skips)} skipped")
    return 1 if missed or failed or not cases else 0


if __name__ == "__main__":
    sys.exit(verdict(sys.argv[1]))
