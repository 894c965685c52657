/* The device of a test, given by its first argument: host (default) or cuda. Without a GPU a test
 * on cuda is skipped.
 *
 * SP_EXPECT_EXCHANGES lists the transports that must be available between the ranks of this run, by
 * their names in [backend] exchange: "peer nccl staged". If it is set, a test fails without a GPU,
 * without a listed transport, and if `auto` selects a transport that is later in sp_transport than
 * the first listed one. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "operators/platform.h"
#include "tests/check.h"

enum { DEVICE_SKIPPED = 77 }; /* CTest's SKIP_RETURN_CODE */

static inline bool device_is_cuda(int argc, char **argv) {
  return argc > 1 && strcmp(argv[1], "cuda") == 0;
}

/* True if a test covers all orders: on one rank, and on a GPU, where each order has its own
 * kernels. On the host, several ranks add only the sum over ranks, which depends on the order only
 * through the DOFs at vertices, on edges and on faces. Order 3 already has several DOFs per edge,
 * which neighbours may traverse in opposite directions. Call after test_begin. Local. */
static inline bool device_sweeps(int argc, char **argv) {
  return world_size == 1 || device_is_cuda(argc, argv);
}

/* The transport with this name; SP_TRANSPORT_AUTO and a failed check if there is none. Local. */
static inline sp_transport device_transport(const char *name) {
  for (sp_transport kind = SP_TRANSPORT_AUTO; kind <= SP_TRANSPORT_STAGED; kind++)
    if (strcmp(name, sp_transport_names[kind]) == 0) return kind;
  CHECK(false, "'%s' is no exchange", name);
  return SP_TRANSPORT_AUTO;
}

/* True if SP_EXPECT_EXCHANGES lists this transport; for SP_TRANSPORT_AUTO, if it is set. Local. */
static inline bool device_expects(sp_transport kind) {
  const char *list = getenv("SP_EXPECT_EXCHANGES");
  char words[128];
  if (!list || kind == SP_TRANSPORT_AUTO) return list;
  CHECK(strlen(list) < sizeof words, "SP_EXPECT_EXCHANGES is too long");
  snprintf(words, sizeof words, "%s", list);
  bool found = false;
  for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
    found = device_transport(word) == kind || found;
  return found;
}

/* Open the device given by main's first argument, with the transport given by the second (default
 * auto), and with SP_TEST_THREADS threads per rank if that is set. Without the device the program
 * exits: skipped (77) if this machine has no GPU and none is expected, else failed. Collective over
 * MPI_COMM_WORLD. */
static inline void device_open(int argc, char **argv, sp_platform *platform) {
  const sp_device_kind kind = device_is_cuda(argc, argv) ? SP_DEVICE_CUDA : SP_DEVICE_HOST;
  const sp_transport transport = argc > 2 ? device_transport(argv[2]) : SP_TRANSPORT_AUTO;
  const char *threads = getenv("SP_TEST_THREADS");
  if (threads) CHECK(sp_team_set(atoi(threads)) == atoi(threads), "no team of %s", threads);
  if (sp_platform_open(MPI_COMM_WORLD, kind, transport, platform) == SP_OK) return;
  const bool skipped =
      strstr(sp_error_message(), "no usable GPU") && !device_expects(SP_TRANSPORT_AUTO);
  if (world_rank == 0) printf("%s: %s\n", skipped ? "skipped" : "failed", sp_error_message());
  MPI_Finalize();
  exit(skipped ? DEVICE_SKIPPED : EXIT_FAILURE);
}

/* Check that sp_space's `transport` between `ranks` ranks on a GPU is the requested one or, for
 * auto, the first expected one or one before it. Local. */
static inline void device_check_exchange(int ranks, const char *transport, sp_transport requested) {
  if (ranks == 1) return;
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(transport, ":"), transport);
  const sp_transport is = device_transport(name);
  sp_transport last = requested;
  if (requested == SP_TRANSPORT_AUTO)
    for (sp_transport kind = SP_TRANSPORT_STAGED; kind > SP_TRANSPORT_AUTO; kind--)
      if (device_expects(kind)) last = kind;
  CHECK(requested == SP_TRANSPORT_AUTO ? last == requested || is <= last : is == requested,
        "the exchange should be %s: %s", sp_transport_names[last], transport);
}
