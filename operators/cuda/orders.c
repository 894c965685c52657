#include <assert.h>

#include "operators/cuda/launch.h"

extern const sp_cuda_order sp_cuda_order_1, sp_cuda_order_2, sp_cuda_order_3, sp_cuda_order_4,
    sp_cuda_order_5, sp_cuda_order_6, sp_cuda_order_7, sp_cuda_order_8, sp_cuda_order_9,
    sp_cuda_order_10, sp_cuda_order_11, sp_cuda_order_12, sp_cuda_order_13, sp_cuda_order_14,
    sp_cuda_order_15;

const sp_cuda_order *sp_cuda_order_get(int order) {
  static const sp_cuda_order *const orders[SP_MAX_ORDER + 1] = {
      NULL,
      &sp_cuda_order_1,
      &sp_cuda_order_2,
      &sp_cuda_order_3,
      &sp_cuda_order_4,
      &sp_cuda_order_5,
      &sp_cuda_order_6,
      &sp_cuda_order_7,
      &sp_cuda_order_8,
      &sp_cuda_order_9,
      &sp_cuda_order_10,
      &sp_cuda_order_11,
      &sp_cuda_order_12,
      &sp_cuda_order_13,
      &sp_cuda_order_14,
      &sp_cuda_order_15,
  };
  assert(order >= 1 && order <= SP_MAX_ORDER);
  return orders[order];
}
