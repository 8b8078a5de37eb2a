"""The build backend: `pullback_wheel.py` of the crate `pullback-python`, which Cargo finds."""

import json
import pathlib
import subprocess
import sys
import tomllib

settings = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["tool"]["maturin"]
# In a source distribution, the crate is in a folder of its own.
manifest = settings.get("manifest-path", "Cargo.toml")
command = ["cargo", "metadata", "--format-version=1", "--manifest-path", manifest]
packages = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]
bridge = next(package["manifest_path"] for package in packages if package["name"] == "pullback-python")
sys.path.append(str(pathlib.Path(bridge).parent))

from pullback_wheel import *  # noqa: E402, F403
