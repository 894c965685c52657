"""sp_solve from Python: -div(kappa grad u) + lambda u = f with elements of high order on hexahedra. Open a case
once, then solve it as often as you like, each time with other data, or step in time.

    import sp_solve

    with sp_solve.Case("cube.ini", order=5) as case:
        r = case.solve(source=case.points[:, 0])
        print(r.iterations, r.u.max())
        print(r.table())

Case files and keys are the program's. Lengths are in the unit of the mesh, everything else in the units of the case.
Operators need scipy, pictures h5py and matplotlib. The library underneath has its manual in solver/sp_solve.h.

A vector has one double per degree of freedom (DOF) of this rank, n = case.sizes.local in all. Entry i belongs to the
node case.points[i]. Arrays of numpy are read and written in place, and also arrays on the GPU of the case, of cupy,
torch and others that have DLPack or __cuda_array_interface__. Other types are converted to double.

Under mpirun all ranks make the same calls. Then vectors have `sizes.owned` entries that this rank owns, and copies
that other ranks own; scipy's solvers work on one rank only. One thread of a process may call at a time."""

from ._case import Case, Clock, Group, Sizes
from ._library import Error
from ._result import NotConverged, Picture, Result

__all__ = ["Case", "Clock", "Error", "Group", "NotConverged", "Picture", "Result", "Sizes"]
