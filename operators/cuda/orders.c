#include <assert.h>

#include "operators/cuda/launch.h"

#define ORDERS(ORDER)                                                                              \
  ORDER(1)                                                                                         \
  ORDER(2)                                                                                         \
  ORDER(3)                                                                                         \
  ORDER(4)                                                                                         \
  ORDER(5)                                                                                         \
  ORDER(6)                                                                                         \
  ORDER(7)                                                                                         \
  ORDER(8)                                                                                         \
  ORDER(9)                                                                                         \
  ORDER(10)                                                                                        \
  ORDER(11)                                                                                        \
  ORDER(12)                                                                                        \
  ORDER(13)                                                                                        \
  ORDER(14)                                                                                        \
  ORDER(15)

#define DECLARE(n) extern const sp_cuda_order sp_cuda_order_##n, sp_cuda_order_single_##n;
ORDERS(DECLARE)

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
#define ENTRY(n) [n] = {&sp_cuda_order_##n, &sp_cuda_order_single_##n},
  static const sp_cuda_order *const orders[SP_MAX_ORDER + 1][SP_PRECISIONS] = {ORDERS(ENTRY)};
  assert(order >= 1 && order <= SP_MAX_ORDER);
  return orders[order][precision];
}
