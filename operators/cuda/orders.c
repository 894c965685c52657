#include <assert.h>

#include "operators/cuda/launch.h"

/* CMake lists the orders, SP_CUDA_ORDERS = ORDER(1) ORDER(2) ... */
#define ORDER(n) extern const sp_cuda_order sp_cuda_order_##n, sp_cuda_order_single_##n;
SP_CUDA_ORDERS
#undef ORDER

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

const sp_cuda_order *sp_cuda_order_get(int order, sp_precision precision) {
#define ORDER(n) [n] = {&sp_cuda_order_##n, &sp_cuda_order_single_##n},
  static const sp_cuda_order *const orders[SP_MAX_ORDER + 1][SP_PRECISIONS] = {SP_CUDA_ORDERS};
  assert(order >= 1 && order <= SP_MAX_ORDER);
  return orders[order][precision];
}
