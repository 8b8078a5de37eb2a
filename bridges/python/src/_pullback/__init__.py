"""Calls the functions of an extension module with arrays of PyTorch, JAX and NumPy.

The extension has the files of this package as texts, and imports each when it is first needed: those for a framework
import that framework.
"""

import importlib.abc
import importlib.machinery
import sys

__path__ = []


class Sources(importlib.abc.MetaPathFinder, importlib.abc.ExecutionLoader):
    """Finds and loads the modules of this package, from their texts by name."""

    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, fullname, path, target=None):
        package, _, name = fullname.rpartition(".")
        if package != __name__ or name not in self.texts:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=self.get_filename(fullname))
        spec.has_location = True
        return spec

    def is_package(self, fullname):
        return False

    def get_filename(self, fullname):
        return f"pullback/{fullname.rpartition('.')[2]}.py"

    def get_source(self, fullname):
        return self.texts[fullname.rpartition(".")[2]]


def add_sources(texts):
    """Lets `import` find these modules in this package."""
    sys.meta_path.append(Sources(texts))
