/* Replaces measure.cu in a build without CUDA. */
#include "operators/paper/measure.h"

const sp_gpu_tools *const sp_gpu_tools_cuda = NULL;
