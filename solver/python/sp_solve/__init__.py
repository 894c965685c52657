"""sp_solve from Python: -div(kappa grad u) + lambda u = f with elements of high order on hexahedra. A case is read and
set up once, and then solved as often as wanted, each time with other data.

    import sp_solve

    with sp_solve.Case("cube.ini", order=5) as case:
        r = case.solve(source=case.points[:, 0])
        print(r.iterations, r.u.max())
        print(r.table())

The case file and its keys are those of the program sp_solve. Lengths are in the unit of the mesh, everything else in
the units of the case. solver/sp_solve.h in the source tree is the manual of the library underneath; numpy is enough,
scipy is needed for operators only, and h5py and matplotlib for pictures.

A vector has one double per degree of freedom (DOF) of this rank, n = case.sizes.local in all; entry i belongs to the
node case.points[i]. numpy arrays are read and written in place, and so are CUDA arrays of cupy, torch and others that
have DLPack or __cuda_array_interface__, if the case runs on that GPU. Other types are converted to double.

Under mpirun all ranks make the same calls. Then vectors have `sizes.owned` entries that this rank owns, and copies
that other ranks own; scipy's solvers work on one rank only. One thread of a process may call at a time."""

from ._case import Case, Group, Sizes
from ._library import Error
from ._result import NotConverged, Picture, Result

__all__ = ["Case", "Error", "Group", "NotConverged", "Picture", "Result", "Sizes"]
