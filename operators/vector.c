#include "operators/vector.h"

sp_status sp_vector_create(const sp_platform *platform, sp_precision precision, size_t count,
                           sp_vector *out) {
  *out = (sp_vector){.platform = platform, .precision = precision, .count = count};
  return platform->backend->vector_create(platform->device, precision, count, &out->data);
}

void sp_vector_destroy(sp_vector *vector) {
  if (vector->data)
    vector->platform->backend->vector_destroy(vector->platform->device, &vector->data);
  *vector = (sp_vector){0};
}

sp_vector sp_vector_part(const sp_vector *whole, size_t first, size_t count) {
  sp_vector part = *whole;
  part.count = count;
  part.data = (char *)whole->data + first * sp_precision_bytes(whole->precision);
  return part;
}

sp_status sp_vector_write(const double *host, sp_vector *vector) {
  const sp_platform *p = vector->platform;
  SP_AUTO_VALUE(sp_vector) full = {0};
  if (vector->precision == SP_DOUBLE)
    return p->backend->upload(p->device, SP_DOUBLE, vector->count, host, vector->data);
  SP_TRY(sp_vector_create(p, SP_DOUBLE, vector->count, &full));
  SP_TRY(sp_vector_write(host, &full));
  SP_TRY(sp_vector_convert(1, &full, vector));
  return p->backend->finish(p->device);
}

sp_status sp_vector_read(const sp_vector *vector, double *host) {
  const sp_platform *p = vector->platform;
  SP_AUTO_VALUE(sp_vector) full = {0};
  if (vector->precision == SP_DOUBLE)
    return p->backend->download(p->device, SP_DOUBLE, vector->count, vector->data, host);
  SP_TRY(sp_vector_create(p, SP_DOUBLE, vector->count, &full));
  SP_TRY(sp_vector_convert(1, vector, &full));
  return sp_vector_read(&full, host);
}

sp_status sp_vector_combine(int terms, const double *weights, const sp_vector *const *x,
                            sp_vector *y) {
  const sp_platform *p = y->platform;
  const void *data[SP_TERMS_MOST];
  for (int k = 0; k < terms; k++) data[k] = x[k]->data;
  return p->backend->combine(p->device, y->precision, y->count, terms, weights, data, y->data);
}

sp_status sp_vector_axpby(double a, const sp_vector *x, double b, sp_vector *y) {
  const double weights[] = {a, b};
  return sp_vector_combine(b == 0 ? 1 : 2, weights, (const sp_vector *[]){x, y}, y);
}

static void *data_of(const sp_vector *vector) {
  return vector ? vector->data : NULL;
}

sp_correction sp_smoothing_correction(const sp_smoothing *step) {
  return (sp_correction){.a = step->a,
                         .b = step->b,
                         .c = step->c,
                         .first = step->first,
                         .s = data_of(step->s),
                         .t = data_of(step->t),
                         .q = data_of(step->q),
                         .r = data_of(step->r),
                         .d = data_of(step->d),
                         .x = data_of(step->x)};
}
