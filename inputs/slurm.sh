#!/usr/bin/env bash
# A case under Slurm, one rank per GPU, until it has converged:
#
#   sbatch slurm.sh CASE.ini [SECTION.KEY=VALUE ...]
#
# Adapt the lines of #SBATCH. README.md in this folder describes the job and its files.
#SBATCH --job-name=sp_solve
#SBATCH --output=%x.%j.out
#SBATCH --open-mode=append
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4 # one rank
#SBATCH --gpus-per-node=4   # per GPU; all GPUs of a node are visible to its ranks, so values can travel directly
#SBATCH --cpus-per-task=8   # for the threads of set-up and results
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@300 # to the ranks, 300 seconds before the end: time to write the field
#SBATCH --requeue
set -uo pipefail

if [[ $# -eq 0 ]]; then
  echo "usage: sbatch slurm.sh CASE.ini [SECTION.KEY=VALUE ...]" >&2
  exit 1
fi
program=${SP_SOLVE:-sp_solve}
case=$1
name=$(basename "$case" .ini)
unconverged=$name.unconverged.hdf # of an interrupted run
initial=$name.initial.hdf         # the start of the next run: no run replaces its input
running=$name.running             # its time is when the last run began; absent after a complete one

part=0
for crashes in 1 2 3; do
  while [[ -e $name.$SLURM_JOB_ID.$part.h5 ]]; do part=$((part + 1)); done # also from before a requeue
  if [[ -e $unconverged ]]; then
    mv "$unconverged" "$initial"
  elif [[ -e $running && $name.hdf -nt $running ]]; then # in time: the steps so far
    steps=$name.$SLURM_JOB_ID.$part.hdf
    mv "$name.hdf" "$steps" && ln -sf "$steps" "$initial"
  fi
  start=()
  if [[ -e $initial ]]; then start=("problem.initial=$initial"); fi

  touch "$running"
  # If a rank crashes, the others get 60 seconds. Ranks that end one after the other are no reason to kill any.
  srun --kill-on-bad-exit=0 --wait=60 --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" \
    "$program" "$case" "output.log=$name.$SLURM_JOB_ID.$part.h5" "output.field=$name.hdf" "${start[@]}" "${@:2}"
  code=$?

  case $code in
    0)
      rm -f "$initial" "$running" # the same case, submitted again, starts anew
      exit 0
      ;;
    5)
      echo "slurm.sh: interrupted, solution so far in $unconverged, in time $name.hdf"
      scontrol requeue "$SLURM_JOB_ID" || echo "slurm.sh: cannot requeue: submit again to continue" >&2
      exit 5
      ;;
    [1-4]) exit "$code" ;; # running again would not help
  esac
  echo "slurm.sh: crash $crashes of at most 3, exit code $code" >&2
done
exit "$code"
