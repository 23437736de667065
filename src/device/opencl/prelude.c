/* The text that every OpenCL program begins with, before the macros of views and items (device/kernel_text.c): see
 * session.h. A constant. */
#include "device/opencl/session.h"

const char *const ti_opencl_prelude =
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char int8_t; typedef uchar uint8_t; typedef short int16_t; typedef ushort uint16_t;\n"
    "typedef int int32_t; typedef uint uint32_t; typedef long int64_t; typedef ulong uint64_t;\n"
    "#define TACIT_KERNEL __kernel void\n"
    "#define TACIT_IN_MEMORY_ __global\n"
    "#define TACIT_GLOBAL __global\n"
    "#define TACIT_SHARED __local\n"
    "#define TACIT_SCRATCH(type, x) __local type *x\n"
    "#define TACIT_GROUP_ID(d) get_local_id(TACIT_DIMS - 1 - (d))\n"
    "#define TACIT_GROUP_SIZE(d) get_local_size(TACIT_DIMS - 1 - (d))\n"
    "#define TACIT_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n"
    "#ifdef cl_khr_int64_base_atomics\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#define TACIT_ADD(p, n) ((void)atom_add((volatile __global ulong *)(p), (ulong)(n)))\n"
    "#endif\n"
    "#define tacit_global_(d) get_global_id(d)\n"
    "#define tacit_group_() get_group_id(0)\n"
    "#define tacit_groups_() get_num_groups(0)\n"
    "#define tacit_place_() ((uint)get_local_id(0))\n"
    "#define tacit_places_() ((uint)get_local_size(0))\n";
