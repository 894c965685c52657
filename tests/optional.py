"""Python modules that a machine may lack. A test without a module that it needs exits with code 77, which CTest
counts as skipped."""

import importlib
import os
import sys


def skip(reason):
    """End the test."""
    print(f"{os.path.basename(sys.argv[0])}: skipped, {reason}")
    sys.exit(77)


def need(*names):
    """The module, or a list of several; if one is missing, the test is skipped."""
    try:
        modules = [importlib.import_module(name) for name in names]
    except ImportError as error:
        skip(error)
    return modules[0] if len(modules) == 1 else modules


def need_vtk():
    """VTK with its reader of VTKHDF files."""
    vtk = need("vtk")
    if not hasattr(vtk, "vtkHDFReader"):
        skip("this VTK has no vtkHDFReader")
    return vtk
