/* Builds without OpenCL's headers have no OpenCL devices: see device/opencl.h. */
#include "device/opencl.h"

bool ti_opencl_is_built(void)
{
    return false;
}

bool ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure, ti_device **out,
                      ti_strbuf *why)
{
    (void)name;
    (void)count;
    (void)cache;
    (void)failure;
    (void)out;
    ti_strbuf_add(why, "TACIT_DEVICES names OpenCL devices, but this tacit was built without OpenCL's headers; install "
                       "opencl-headers and build it again");
    return false;
}

bool ti_opencl_fact_of(int index, ti_opencl_fact *out)
{
    (void)index;
    *out = (ti_opencl_fact){ .memory = 0 };
    return false;
}
