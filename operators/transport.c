#include "operators/transport.h"

#include <stddef.h>

const char *const sp_transport_names[] = {[SP_TRANSPORT_AUTO] = "auto",
                                          [SP_TRANSPORT_PEER] = "peer",
                                          [SP_TRANSPORT_CUDA_AWARE] = "cuda-aware",
                                          [SP_TRANSPORT_NCCL] = "nccl",
                                          [SP_TRANSPORT_STAGED] = "staged",
                                          NULL};
