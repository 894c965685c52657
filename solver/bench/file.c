#include "solver/bench/file.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "io/path.h"
#include "io/run_log.h"

struct sp_bench_file {
  MPI_Comm comm;
  sp_record *record; /* borrowed */
  sp_run_log *log;   /* on rank 0 */
  int count;
  sp_bench_row *rows;
};

static void record_row(sp_record *record, const sp_bench_row *r) {
  sp_record_open(record, SP_RECORD_TABLE, "bench");
  sp_record_row(record,
                "what %s, problem %s, geometry %s, precision %s, threads %d, kernel %d, "
                "order %d, elements %lld, warm_cache %d, dofs %lld, sets %d, samples %d, calls %d, "
                "seconds %g [s], seconds_min %g [s], seconds_max %g [s], flops %g, bytes %g [B], "
                "tflops %g [TFLOP/s], gbytes_per_second %g [GB/s], gdofs_per_second %g [GDOF/s], "
                "error %g, registers %d, shared_bytes %d, local_bytes %d, block_threads %d, "
                "shared_traffic %d",
                sp_bench_what_names[r->what], sp_operator_names[r->problem],
                sp_geometry_names[r->geometry], sp_bench_precision_names[r->precision], r->threads,
                r->kernel, r->order, (long long)r->elements, r->warm_cache, (long long)r->dofs,
                r->sets, r->samples, r->calls, r->seconds, r->seconds_min, r->seconds_max, r->flops,
                r->bytes, r->tflops, r->gbytes_per_second, r->gdofs_per_second, r->error,
                r->registers, r->shared_bytes, r->local_bytes, r->block_threads, r->shared_traffic);
  sp_record_close(record);
}

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

/* Called on rank 0. */
static sp_status open_log(sp_bench_file *f, const char *path) {
  if (!sp_path_is_ordinary(path))
    return sp_fail(SP_ERR_INPUT, "--output: %s is not a regular file; give another name", path);
  SP_TRY(sp_run_log_create(path, f->record, 0, NULL, &f->log));
  return sp_run_log_flush(f->log);
}

static void forget(sp_bench_file **file) {
  if (!*file) return;
  (void)sp_run_log_close(&(*file)->log);
  SP_FREE((*file)->rows, *file);
  *file = NULL;
}

sp_status sp_bench_file_open(MPI_Comm comm, const char *path, sp_record *record,
                             sp_bench_file **out) {
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof **out, "results", out)));
  **out = (sp_bench_file){.comm = comm, .record = record};
  const sp_status status = sp_agree(comm, sp_comm_rank(comm) == 0 ? open_log(*out, path) : SP_OK);
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
