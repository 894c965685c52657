/* Replaces the CUDA backend in a program that is built without it. */
#include "operators/backend.h"

const sp_backend *const sp_backend_cuda = NULL;
