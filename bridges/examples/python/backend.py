"""The build backend: `pullback_wheel.py` of the crate `pullback-python`, which Cargo finds."""

import json
import pathlib
import subprocess
import sys

metadata = subprocess.run(["cargo", "metadata", "--format-version=1"], check=True, stdout=subprocess.PIPE).stdout
packages = json.loads(metadata)["packages"]
manifest = next(package["manifest_path"] for package in packages if package["name"] == "pullback-python")
sys.path.append(str(pathlib.Path(manifest).parent))

from pullback_wheel import *  # noqa: E402, F403
