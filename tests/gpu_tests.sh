# Shared by tests/gpu and tests/compute_sanitizer, which source it. The tests labelled cuda are read from
# BUILD/tests/cuda_tests.txt, which CMake writes: name, ranks, seconds, program in BUILD, arguments. BUILD may be a copy
# on another machine: neither CMake nor the original path is needed.

fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# gpu_open BUILD: sets build (absolute), tests (lines of the list) and gpus (entries for CUDA_VISIBLE_DEVICES).
gpu_open() {
  build=$(cd "$1" 2>/dev/null && pwd) || fail "no folder $1"
  [[ -e $build/tests/cuda_tests.txt ]] || fail "$1 has no tests/cuda_tests.txt: it is no build folder"
  mapfile -t tests <"$build/tests/cuda_tests.txt"
  [[ ${#tests[@]} -gt 0 ]] || fail "$1 has no tests for GPUs: it was configured without CUDA"
  local count
  if [[ -n ${CUDA_VISIBLE_DEVICES:-} ]]; then
    IFS=, read -r -a gpus <<<"$CUDA_VISIBLE_DEVICES"
  else
    count=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || fail "no GPU: nvidia-smi lists none"
    mapfile -t gpus < <(seq 0 $((count - 1)))
  fi
  export CUDA_DEVICE_ORDER=PCI_BUS_ID # as nvidia-smi counts
}

# gpu_pool PLACES: calls run_one PLACE LINE, which the script defines, for each line of standard input, at most PLACES
# at a time; PLACE is 0, 1, ..., different for those that run together.
gpu_pool() {
  local free line process
  local -A place_of=()
  mapfile -t free < <(seq 0 $(($1 - 1)))
  while read -r line; do
    if [[ ${#free[@]} -eq 0 ]]; then
      wait -n -p process || true # run_one stores its result in a file
      free+=("${place_of[$process]}")
    fi
    run_one "${free[0]}" "$line" </dev/null &
    place_of[$!]=${free[0]}
    free=("${free[@]:1}")
  done
  wait
}
