"""Calls the functions of an extension module with arrays of PyTorch, JAX and NumPy.

The extension has the files of this package as texts, and imports each when it is first needed: those for a framework
import that framework. Operators of PyTorch and the handler of XLA are registered as soon as both the framework and the
extension are imported, since a program that was exported has nothing but their names.
"""

import importlib.abc
import importlib.machinery
import importlib.util
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


class After(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a framework as it is, and then calls `define`."""

    def __init__(self, framework, define):
        self.framework = framework
        self.define = define
        self.loader = None

    def find_spec(self, fullname, path, target=None):
        if fullname != self.framework:
            return None
        # This finder stays, as others may only ask whether there is the framework.
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                self.loader, spec.loader = spec.loader, self
            if spec is not None:
                return spec
        return None

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        sys.meta_path.remove(self)
        self.define()


def add_sources(texts):
    """Lets `import` find these modules in this package."""
    sys.meta_path.append(Sources(texts))


def after(framework, define):
    """Calls `define` when a framework has been imported: now, or later."""
    module = sys.modules.get(framework)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        define()
    else:
        sys.meta_path.insert(0, After(framework, define))
