# A recipe for Spack: put this folder into a repository of your own as packages/tacit, and `spack install tacit`.
# Spack itself has not run it; tests/cli/spack_test.py compares its options with those of the build.
from spack.package import *


class Tacit(CMakePackage):
    """Programs for a whole cluster without communication code: buffers, tasks, and what they read and write."""

    homepage = "file:///usr/share/doc/tacit/README.md"
    has_code = True

    license("Apache-2.0")

    # Sources in a folder: spack install tacit@=main dev_path=/path/to/tacit, or spack develop -p /path/to/tacit tacit@=main
    version("main")
    version("0.1.0")

    variant("mpi", default=True, description="several nodes, over MPI")
    variant("hdf5", default=True, description="buffers to HDF5 files and back")
    variant("opencl", default=False, description="OpenCL devices")
    variant("fortran", default=True, description="the Fortran module")
    variant("shared", default=True, description="a shared library")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("hwloc@2:")
    depends_on("jansson")
    depends_on("libpng")
    depends_on("mpi", when="+mpi")
    depends_on("hdf5", when="+hdf5")
    depends_on("opencl-headers", when="+opencl")

    def cmake_args(self):
        return [
            self.define_from_variant("TACIT_MPI", "mpi"),
            self.define_from_variant("TACIT_HDF5", "hdf5"),
            self.define_from_variant("TACIT_OPENCL", "opencl"),
            self.define("TACIT_FORTRAN", "AUTO" if self.spec.satisfies("+fortran") else "OFF"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("TACIT_BUILD_TESTS", False),
            self.define("TACIT_NATIVE", False),
        ]
