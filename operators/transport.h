/* Transport of the values of shared DOFs between GPUs of different ranks; between CPUs it is MPI.
 */
#pragma once

typedef enum sp_transport {
  SP_TRANSPORT_AUTO,       /* the first possible one, in this order */
  SP_TRANSPORT_PEER,       /* GPUs write to each other's memory */
  SP_TRANSPORT_CUDA_AWARE, /* MPI reads and writes GPU memory */
  SP_TRANSPORT_NCCL,
  SP_TRANSPORT_STAGED /* through pinned host memory */
} sp_transport;

/* All names as in a case, by sp_transport; ends in NULL. */
extern const char *const sp_transport_names[];
