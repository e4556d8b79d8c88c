"""Says how a pytest run went, from its JUnit report, and fails when it skipped what should have run."""

import sys
from xml.etree import ElementTree


def verdict(report: str) -> int:
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    for case in skipped:
        reason = case.find("skipped")
        print(f"skipped: {case.get('classname')}::{case.get('name')}: {reason is not None and reason.get('message')}")
    print(f"{len(cases) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if skipped or failed or not cases else 0


if __name__ == "__main__":
    sys.exit(verdict(sys.argv[1]))
