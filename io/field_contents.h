/* The contents of a field file (field_file.h), without opening it: datasets that all ranks write,
 * and the lists of a series. All functions are Local, between sp_hdf5_begin and sp_hdf5_end. */
#pragma once

#include <hdf5.h>

#include "io/field_file.h"

/* Sizes of one piece, or sums over lower ranks or all ranks. */
typedef struct sp_field_sizes {
  int64_t elements, points;
} sp_field_sizes;

typedef struct sp_field_piece {
  const sp_field_data *data;
  const sp_field_state *state; /* NULL: not a series */
  int64_t states;              /* in the file before this one */
  int rank, ranks;
  int64_t nodes; /* per element */
  sp_field_sizes before, total;
  sp_field_sizes *by_rank;
  int64_t *counts;
  int *lattice;
  void *block;
} sp_field_piece;

/* Data are written in blocks of about this size. Far below 2 GiB, where counts in
 * MPI-IO overflow, and large enough that the cost per call to the file system is negligible. */
enum { SP_FIELD_BLOCK = 8 << 20 }; /* bytes of `block` */

/* Write the small datasets, and allocate space for the large ones; at most `bytes` in all. */
int64_t sp_field_bytes(const sp_field_piece *p);
void sp_field_create(hid_t file, const sp_field_piece *p);

/* Make place for a state, in at most `state_bytes`. */
int64_t sp_field_state_bytes(const sp_field_piece *p);
void sp_field_extend(hid_t file, const sp_field_piece *p);

/* Write this rank's part of all datasets, or of a state behind others, block by block. */
void sp_field_write_piece(hid_t file, const sp_field_piece *p, hid_t transfer);

/* Add this state to the lists, in at most `list_bytes`, then count it. */
int64_t sp_field_list_bytes(const sp_field_piece *p);
void sp_field_append_state(hid_t file, const sp_field_piece *p);

/* Chunks that the index of a dataset has in one node, which is changed in place. */
enum { SP_FIELD_CHUNKS = 1024 };
