"""sp_solve for Spack; README.md in this folder says how to use it."""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class SpSolve(CMakePackage, CudaPackage):
    """High-order finite elements for the screened Poisson equation on meshes of
    hexahedra, in parallel with MPI, on CPUs and NVIDIA GPUs."""

    homepage = "https://doi.org/10.1177/1094342018816368"

    license("BSD-3-Clause")

    version("0.2.0")

    variant("hypre", default=True, description="Coarsest level of multigrid with hypre on several CPU ranks")
    variant("nccl", default=False, when="+cuda", description="Exchange between GPUs through NCCL")
    variant("plot", default=False, description="Python modules of sp_plot")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("git", type="build")  # for the revision

    depends_on("mpi")
    depends_on("hdf5@1.10:+mpi")
    depends_on("gmsh@4.8:+shared~fltk+opencascade")
    depends_on("metis@5.1:")
    depends_on("hypre@2.26:2+mpi~int64~mixedint~complex~cuda precision=double", when="+hypre")
    depends_on("nccl", when="+nccl")
    depends_on("python@3.9:", type="run", when="+plot")
    depends_on("py-h5py", type="run", when="+plot")
    depends_on("py-matplotlib", type="run", when="+plot")
    depends_on("py-numpy", type="run", when="+plot")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: sp-solve+cuda cuda_arch=90")
    conflicts("%gcc@:11")

    def cmake_args(self):
        args = [
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("HDF5_ROOT", self.spec["hdf5"].prefix),
            self.define("BUILD_TESTING", False),
            self.define_from_variant("SP_ENABLE_CUDA", "cuda"),
            self.define_from_variant("SP_ENABLE_HYPRE", "hypre"),
            self.define("SP_ENABLE_NCCL", self.spec.satisfies("+nccl")),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def test_box(self):
        """solve on a small box"""
        sp_solve = which(self.prefix.bin.sp_solve)
        sp_solve("mesh.elements=2 2 2", "problem.solution=x*y", "output.log=", "output.field=")
