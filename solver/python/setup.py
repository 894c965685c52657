"""Records where the source tree is, whose build/ has the library if none is installed. Temporary files of setuptools
stay out of the source tree."""

import pathlib
import tempfile

import setuptools
from setuptools.command.build_py import build_py


class Build(build_py):
    def run(self):
        super().run()
        root = pathlib.Path(__file__).resolve().parents[2]
        file = pathlib.Path(self.build_lib, "sp_solve", "_source.py")
        file.write_text(f'"""Written by setup.py."""\n\nROOT = {str(root)!r}\n', encoding="utf-8")


folder = tempfile.mkdtemp()
setuptools.setup(cmdclass={"build_py": Build},
                 options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}})
