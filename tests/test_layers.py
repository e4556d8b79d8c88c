"""Arrows of import point one way: domain ← stores ← engine ← worker ← commands."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "asyncjobs"
FOUNDATION = ("asyncjobs.errors", "asyncjobs.domain")
TABLES = ("asyncjobs.models", "asyncjobs.columns")
STORES = (*FOUNDATION, *TABLES, "asyncjobs.stores")


def modules(*parts: str) -> list[Path]:
    return sorted(
        path for part in parts for path in [PACKAGE / f"{part}.py", *(PACKAGE / part).rglob("*.py")] if path.exists()
    )


def imports(module: Path) -> Iterator[str]:
    """All it imports, also inside functions, by full name."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            yield str(node.module)


def is_under(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def name_of(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


@pytest.mark.parametrize("module", modules("domain", "errors"), ids=name_of)
def test_the_domain_imports_nothing_but_the_standard_library_and_its_errors(module: Path) -> None:
    for name in imports(module):
        assert is_under(name, *FOUNDATION) or name.split(".")[0] in sys.stdlib_module_names, name


@pytest.mark.parametrize("module", modules("stores", "models", "columns"), ids=name_of)
def test_a_store_imports_no_layer_above_it(module: Path) -> None:
    for name in imports(module):
        assert is_under(name, *STORES) or not is_under(name, "asyncjobs"), name


@pytest.mark.parametrize(
    "module",
    [path for path in modules(".") if path not in modules("stores", "models", "migrations", "embedded", "admin")],
    ids=name_of,
)
def test_only_stores_know_of_servers(module: Path) -> None:
    for name in imports(module):
        assert not is_under(name, "redis", "django_redis", *TABLES), name


ABOVE_THE_WORKER = (
    "worker",
    "api",
    "dashboard/operations",
    "management",
    "benchmark",
    "jobs",
    "logs",
    "testing",
    "__init__",
)


@pytest.mark.parametrize(
    "module", [path for path in modules(".") if path not in modules(*ABOVE_THE_WORKER)], ids=name_of
)
def test_what_submits_jobs_knows_nothing_of_workers(module: Path) -> None:
    for name in imports(module):
        assert not is_under(name, "asyncjobs.worker"), name


@pytest.mark.parametrize("module", [path for path in modules(".") if path not in modules("management")], ids=name_of)
def test_nothing_imports_a_command(module: Path) -> None:
    for name in imports(module):
        assert not is_under(name, "asyncjobs.management"), name
