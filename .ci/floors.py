"""Prints the oldest release of each dependency that the project says it works with, as pip's constraints."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *extras["fast"], *extras["demo"]]:
    if ">=" in requirement:
        print(requirement.replace(">=", "=="))
