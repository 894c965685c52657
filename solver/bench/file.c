#include "solver/bench/file.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hdf5.h>

#include "io/hdf5_file.h"
#include "io/path.h"
#include "io/run_log.h"
#include "solver/run/provenance.h"

struct sp_bench_file {
  MPI_Comm comm;
  sp_record *record; /* on rank 0, as is the log */
  sp_run_log *log;
  int count;
  sp_bench_row *rows;
};

/* ---- Writing ---- */

static void record_version(sp_record *record, const char *name, int version) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
  sp_record_text(record, name, text);
}

static void record_provenance(sp_record *record, const char *hosts, int ranks,
                              const sp_bench_provenance *p) {
  sp_record_program(record, "sp_bench");
  sp_record_add(record, "hosts %s, ranks %d, device %s, exchange %s, options %s, status %s", hosts,
                ranks, p->device, p->exchange, p->options, "running");
  if (!p->gpu) return;
  record_version(record, "cuda_driver", p->properties.driver);
  record_version(record, "cuda_runtime", p->properties.runtime);
  sp_record_add(record, "multiprocessors %d, clock %g [Hz], cache %g [B]",
                p->properties.multiprocessors, p->properties.clock, p->properties.cache_bytes);
  if (p->properties.memory_bandwidth > 0)
    sp_record_real(record, "memory_bandwidth_theoretical", p->properties.memory_bandwidth, "B/s");
  sp_record_add(record,
                "shared_bandwidth_formula %g [B/s], shared_bandwidth_measured %g [B/s], "
                "fp64_measured %g [flop/s]",
                p->properties.shared_bandwidth, p->shared_bandwidth, p->fp64_rate);
}

static void record_row(sp_record *record, const sp_bench_row *r) {
  sp_record_open(record, SP_RECORD_TABLE, "bench");
  sp_record_row(record,
                "what %s, problem %s, geometry %s, precision %s, map %s, threads %d, kernel %d, "
                "order %d, elements %lld, warm_cache %d, dofs %lld, sets %d, samples %d, calls %d, "
                "seconds %g [s], seconds_min %g [s], seconds_max %g [s], flops %g, bytes %g [B], "
                "tflops %g [TFLOP/s], gbytes_per_second %g [GB/s], gdofs_per_second %g [GDOF/s], "
                "error %g, registers %d, shared_bytes %d, local_bytes %d, block_threads %d, "
                "shared_traffic %d",
                sp_bench_what_names[r->what], sp_operator_names[r->problem],
                sp_geometry_names[r->geometry], sp_bench_precision_names[r->precision],
                sp_map_names[r->map], r->threads, r->kernel, r->order, (long long)r->elements,
                r->warm_cache, (long long)r->dofs, r->sets, r->samples, r->calls, r->seconds,
                r->seconds_min, r->seconds_max, r->flops, r->bytes, r->tflops, r->gbytes_per_second,
                r->gdofs_per_second, r->error, r->registers, r->shared_bytes, r->local_bytes,
                r->block_threads, r->shared_traffic);
  sp_record_close(record);
}

/* ---- Rows ---- */

const sp_bench_row *sp_bench_file_find(const sp_bench_file *file, const sp_bench_row *key) {
  for (int r = 0; r < file->count; r++)
    if (memcmp(&file->rows[r], key, offsetof(sp_bench_row, sets)) == 0) return &file->rows[r];
  return NULL;
}

sp_status sp_bench_file_add(sp_bench_file *file, const sp_bench_row *row) {
  sp_status status = sp_reserve((size_t)file->count, 1, sizeof *file->rows, "results", &file->rows);
  if (!status) file->rows[file->count++] = *row;
  record_row(file->record, row);
  if (!status && file->log) status = sp_run_log_flush_if_due(file->log);
  return sp_agree(file->comm, status);
}

/* True if sp_bench wrote the HDF5 file. */
static bool is_ours(hid_t file) {
  char *program = NULL;
  const hid_t id = H5Aopen(file, "program", H5P_DEFAULT), type = H5Aget_type(id);
  if (H5Tis_variable_str(type) > 0) H5Aread(id, type, &program);
  H5Tclose(type);
  H5Aclose(id);
  const bool ours = program && strcmp(program, "sp_bench") == 0;
  H5free_memory(program);
  return ours;
}

/* Only a file of sp_bench, or an empty one, may be replaced: the user may have mistyped the name.
 */
static sp_status check_replaced(const char *path) {
  struct stat found;
  if (!sp_path_is_ordinary(path))
    return sp_fail(SP_ERR_INPUT, "--output: %s is not a regular file; give another name", path);
  if (stat(path, &found) != 0 || found.st_size == 0) return SP_OK;
  sp_hdf5_begin();
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const bool ours = file >= 0 && is_ours(file);
  if (file >= 0) H5Fclose(file);
  (void)sp_hdf5_end(); /* an error means: no HDF5 file, or one without this attribute */
  if (ours) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "--output: %s exists and was not written by sp_bench; give another name", path);
}

/* Called on rank 0. */
static sp_status open_log(sp_bench_file *f, const char *path, const char *hosts, int ranks,
                          const sp_bench_provenance *provenance) {
  SP_TRY(check_replaced(path));
  SP_TRY(sp_record_create(&f->record));
  record_provenance(f->record, hosts, ranks, provenance);
  SP_TRY(sp_run_log_create(path, f->record, 0, NULL, &f->log));
  return sp_run_log_flush(f->log);
}

static void forget(sp_bench_file **file) {
  if (!*file) return;
  (void)sp_run_log_close(&(*file)->log);
  sp_record_destroy(&(*file)->record);
  SP_FREE((*file)->rows, *file);
  *file = NULL;
}

sp_status sp_bench_file_open(MPI_Comm comm, const char *path, const sp_bench_provenance *provenance,
                             sp_bench_file **out) {
  SP_OWNED char *hosts = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof **out, "results", out)));
  (*out)->comm = comm;
  sp_status status = sp_list_hosts(comm, &hosts);
  if (!status && sp_comm_rank(comm) == 0)
    status = open_log(*out, path, hosts, sp_comm_size(comm), provenance);
  status = sp_agree(comm, status);
  if (status) forget(out);
  return status;
}

sp_status sp_bench_file_close(sp_bench_file **file, sp_status outcome) {
  if (!*file) return outcome;
  sp_kept_error kept;
  sp_error_keep(outcome, &kept);
  sp_record_text((*file)->record, "status", outcome ? kept.message : "complete");
  const sp_status status = sp_agree((*file)->comm, sp_run_log_close(&(*file)->log));
  forget(file);
  return outcome ? sp_error_restore(&kept) : status;
}
