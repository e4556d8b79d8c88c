"""What was found, for people or for programs."""

import json
from collections.abc import Sequence

from tests.bench.dashboard.assets import KB, LIMIT, Asset
from tests.bench.dashboard.bulk import LEAST, Bulk
from tests.bench.dashboard.trial import Finding


def of_findings(kind: str, found: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        print(*(json.dumps({"store": kind} | finding._asdict()) for finding in found), sep="\n")
        return
    print(f"\n{kind:<40}{'trips':>6}{'kB':>7}{'cpu ms':>8}{'p50':>8}{'p95':>8}{'limit':>7}")
    for finding in found:
        name, trips, size, cpu, p50, p95, limit = finding
        verdict = "" if limit is None else f"{limit:>7.0f}  {_verdict(is_over=finding.is_over)}"
        print(f"  {name:<38}{trips:>6}{size / 1000:>7.1f}{cpu:>8.1f}{p50:>8.1f}{p95:>8.1f}{verdict}")


def of_bulk(kind: str, done: Bulk, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"store": kind, "section": "bulk"} | done._asdict()))
        return
    verdict = f"{LEAST:,.0f} at least  {_verdict(is_over=done.is_over)}"
    print(f"  {f'{done.name}: {done.jobs:,}':<38}{done.rate:>29,.0f} jobs/s, {verdict}")


def of_assets(found: Sequence[Asset], *, as_json: bool) -> None:
    if as_json:
        print(*(json.dumps({"section": "assets"} | asset._asdict()) for asset in found), sep="\n")
        return
    print(f"\n{'assets of a first visit':<46}{'KB':>7}{'gzip':>9}{'limit':>16}")
    for name, size, packed in found:
        print(f"  {name:<44}{size / KB:>7.1f}{packed / KB:>9.1f}")
    print(f"{LIMIT / KB:>78.0f}  {_verdict(is_over=found[-1].bytes > LIMIT)}")


def _verdict(*, is_over: bool) -> str:
    return "OVER" if is_over else "ok"
