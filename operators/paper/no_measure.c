/* Replaces measure.cu in a build without CUDA. */
#include "operators/paper/measure.h"

static sp_status no_gpu(void) {
  return sp_fail(SP_ERR_INPUT, "this program was built without CUDA and measures no GPU: build it "
                               "with -DSP_ENABLE_CUDA=ON");
}

sp_status sp_gpu_describe(const sp_device *device, sp_gpu *out) {
  (void)device;
  *out = (sp_gpu){0};
  return no_gpu();
}

sp_status sp_stamps_create(int count, sp_stamps **out) {
  (void)count;
  *out = NULL;
  return no_gpu();
}

void sp_stamps_destroy(sp_stamps **stamps) {
  *stamps = NULL;
}

sp_status sp_stamps_queue(sp_device *device, sp_stamps *stamps, int n) {
  (void)device, (void)stamps, (void)n;
  return no_gpu();
}

sp_status sp_stamps_seconds(sp_stamps *stamps, int from, int to, double *seconds) {
  (void)stamps, (void)from, (void)to, (void)seconds;
  return no_gpu();
}

sp_status sp_gpu_pause(sp_device *device, double seconds) {
  (void)device, (void)seconds;
  return no_gpu();
}

sp_status sp_gpu_measure_shared(sp_device *device, double *bandwidth) {
  (void)device, (void)bandwidth;
  return no_gpu();
}

sp_status sp_gpu_measure_fp64(sp_device *device, double *rate) {
  (void)device, (void)rate;
  return no_gpu();
}
