"""What a user installs is complete, and works away from this checkout."""

import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "asyncjobs"

SITE = """
import importlib, pathlib, pkgutil
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=[
        "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages",
        "django.contrib.sessions", "django_htmx", "asyncjobs",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]},
    }],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()
from django.core.management import call_command
call_command("check", "--fail-level=WARNING")
call_command("makemigrations", "--check", "--dry-run")
call_command("migrate", verbosity=0)
import asyncjobs
for module in pkgutil.walk_packages(asyncjobs.__path__, "asyncjobs."):
    importlib.import_module(module.name)
print(pathlib.Path(asyncjobs.__file__).parent)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout, without the network."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel installed in it, and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    quiet = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, "--target", str(target), str(wheel)], check=True)
    return target


def test_the_wheel_has_every_file_of_the_package_and_none_beside(wheel: Path) -> None:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == {str(path.relative_to(ROOT)) for path in files}


@pytest.mark.parametrize(
    "kind", ["*.lua", "py.typed", "migrations/0*.py", "static/asyncjobs/*", "templates/asyncjobs/*.html"]
)
def test_the_package_has(kind: str) -> None:
    assert list(PACKAGE.rglob(kind))


def test_an_installed_wheel_migrates_checks_and_imports(installed: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(installed), "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"}
    site = subprocess.run(
        [sys.executable, "-c", SITE], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert site.returncode == 0, site.stderr
    assert site.stdout.splitlines()[-1] == str(installed / "asyncjobs")


def test_the_metadata_names_the_licence_and_the_dependencies_of_the_design(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(path))
    required = (need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need)
    names = {re.split(r"[<>=!~ ;\[]", need)[0].lower() for need in required}
    assert names == {"cronsim", "django", "django-htmx", "django-redis", "djangorestframework", "redis"}
    assert metadata["License-Expression"] == "BSD-3-Clause"


def test_every_ignored_rule_has_a_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    ignored = tomllib.loads(text)["tool"]["ruff"]["lint"]["ignore"]
    assert all(re.search(rf'"{rule}",? +# \w+', text) for rule in ignored)


def test_every_suppressed_warning_names_its_rule() -> None:
    bare = re.compile(r"#\s*(noqa(?!: ?[A-Z]+\d)|type: ignore(?!\[))")
    sources = [path for folder in ("asyncjobs", "project", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in sources if path != Path(__file__) and bare.search(path.read_text())] == []


def test_make_alone_says_what_can_be_made() -> None:
    shown = subprocess.run(["make", "-C", str(ROOT)], check=True, capture_output=True, text=True).stdout
    for target in ("help", "demo", "test", "lint", "bench"):
        assert f"make {target}" in shown
