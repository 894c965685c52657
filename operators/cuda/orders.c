#include <assert.h>

#include "operators/cuda/launch.h"

extern const sp_cuda_order sp_cuda_order_1, sp_cuda_order_2, sp_cuda_order_3, sp_cuda_order_4,
    sp_cuda_order_5, sp_cuda_order_6, sp_cuda_order_7, sp_cuda_order_8, sp_cuda_order_9,
    sp_cuda_order_10, sp_cuda_order_11, sp_cuda_order_12, sp_cuda_order_13, sp_cuda_order_14,
    sp_cuda_order_15;

void sp_cuda_node_order(int order, unsigned short *places) {
  enum { LOW, HIGH, INSIDE, WHERE }; /* of a coordinate */
  const int begin[] = {0, order, 1}, end[] = {1, order + 1, order}, nq = order + 1;
  for (int dimension = 0; dimension <= 3; dimension++)
    for (int entity = 0; entity < WHERE * WHERE * WHERE; entity++) {
      const int r = entity % WHERE, s = entity / WHERE % WHERE, t = entity / (WHERE * WHERE);
      if ((r == INSIDE) + (s == INSIDE) + (t == INSIDE) != dimension) continue;
      for (int k = begin[t]; k < end[t]; k++)
        for (int j = begin[s]; j < end[s]; j++)
          for (int i = begin[r]; i < end[r]; i++)
            *places++ = (unsigned short)((k * nq + j) * nq + i);
    }
}

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
