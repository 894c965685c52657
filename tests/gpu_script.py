#!/usr/bin/env python3
"""tests/gpu and tests/compute_sanitizer without a GPU: stand-ins of nvidia-smi, the sanitizer and the tests record what
they are given."""

import os
import shutil
import subprocess
import sys

import driver
from driver import check

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]

# Each rank writes what it is given.
RECORD = """#!/bin/sh
mkdir -p "$RECORDS"
echo "$(basename "$0") $CUDA_VISIBLE_DEVICES $SP_EXPECT_EXCHANGES $SP_TEST_RANKS $*" >>"$RECORDS/all"
"""
NVIDIA_SMI = """#!/bin/sh
[ "$1" = -L ] || exit 1
for gpu in $(seq 0 $(($GPUS - 1))); do echo "GPU $gpu: NVIDIA Stand-in (UUID: GPU-$gpu)"; done
[ "$GPUS" -gt 0 ]
"""
SANITIZER = """#!/bin/sh
tool=$2
shift 4
[ "$tool" = racecheck ] && [ "$(basename "$1")" = test_race ] && exit 9
"$@"
"""
TESTS = """good_cuda_np1 1 60 tests/test_good cuda
good_cuda_np4 4 60 tests/test_good cuda
good_staged_cuda_np2 2 60 tests/test_good cuda staged
real_cuda_np2 2 60 tests/test_real host
race_cuda_np1 1 60 tests/test_race cuda
absent_cuda_np1 1 60 tests/test_absent cuda
"""
BAD = """bad_cuda_np2 2 60 tests/test_bad cuda
slow_cuda_np1 1 1 tests/test_slow cuda
blind_cuda_np1 1 60 tests/test_blind cuda
"""


def write(path, text):
    driver.write(path, text)
    os.chmod(path, 0o755)


def make_build(tests):
    shutil.rmtree("build", ignore_errors=True)
    os.makedirs("build/tests")
    write("build/tests/cuda_tests.txt", tests)
    for name, end in ("good", ""), ("race", ""), ("bad", "echo what went wrong; exit 1\n"), ("slow", "sleep 30\n"), \
            ("blind", "exit 77\n"):
        write(f"build/tests/test_{name}", RECORD + end)
    shutil.copy(PROGRAM, "build/tests/test_real")


def run(script, gpus, expected, words, *arguments, **environment):
    """Check the exit code and what the script prints; returns the lines recorded by the runs that it started."""
    shutil.rmtree("records", ignore_errors=True)
    new = {**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}", "GPUS": str(gpus),
           "RECORDS": f"{os.getcwd()}/records", "MPIEXEC": MPIEXEC, **environment}
    done = driver.command(os.path.join(HERE, script), *arguments, env=new, timeout=300, capture_output=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == expected and all(word in done.stdout for word in words),
          f"{script} {arguments}, {gpus} GPUs: {done.returncode}, {done.stdout}")
    if not os.path.exists("records/all"):
        return []
    with open("records/all", encoding="utf-8") as file:
        return sorted(file.read().splitlines())


def good():
    """On 2 GPUs: how often each test runs, which GPUs and exchanges it gets, and what is left out; by name, on GPUs
    and with exchanges of the environment."""
    make_build(TESTS)
    lines = run("gpu", 2, 0, ["absent_cuda_np1: no program tests/test_absent",
                              "good_cuda_np4 on 4 GPUs: this machine has 2", "8 passed, 0 failed"], "build", "logs")
    counts = [(line.count(","), line.split(" ", 2)[2]) for line in lines if line.startswith("test_good")]
    check(sorted(counts) == sorted([(0, "staged 1 cuda"), *[(0, "staged 4 cuda"), (1, "staged 4 cuda")] * 4,
                                    *[(0, "staged 2 cuda staged"), (1, "peer staged 2 cuda staged")] * 2]), f"{counts}")
    check({gpu for line in lines for gpu in line.split()[1].split(",")} == {"0", "1"}, f"{lines}")
    with open("logs/real_cuda_np2.1.log", encoding="utf-8") as file:
        check("0 failed" in file.read(), "the log of the real test")
    lines = run("gpu", 4, 0, ["this machine has 2"], "build", "logs", "good_", CUDA_VISIBLE_DEVICES="3,1",
                SP_EXPECT_EXCHANGES="peer nccl staged")
    check("test_good 3,1 peer nccl staged 2 cuda staged" in lines and
          {line.split()[1] for line in lines} == {"3", "1", "3,1"}, f"{lines}")


def bad():
    """Failures, time-outs, and tests that say they found no GPU; and what can be no run."""
    make_build(TESTS + BAD)
    run("gpu", 2, 1, ["bad_cuda_np2 on 1 GPU(s): failed with exit code 1, see ", "bad_cuda_np2 on 2 GPU(s): failed",
                      "slow_cuda_np1 on 1 GPU(s): timeout", "blind_cuda_np1 on 1 GPU(s): skipped with exit code 77",
                      "4 failed"], "build", "logs")
    for word, gpus, *arguments in (("usage", 1, "build"), ("no folder absent", 1, "absent", "logs"),
                                   ("cuda_tests.txt", 1, "bin", "logs"), ("no GPU", 0, "build", "logs"),
                                   ("no test has a name with: nothing", 1, "build", "logs", "nothing")):
        check(not run("gpu", gpus, 2, [word], *arguments), f"{arguments}: runs something")
    run("gpu", 1, 1, ["0 passed"], "build", "logs", "absent")


def sanitizers():
    make_build(TESTS)
    lines = run("compute_sanitizer", 2, 0, ["all clean"], "build", "memcheck")
    check([line.split()[0] for line in lines] == ["test_good", "test_race"], f"{lines}")
    check(len(run("compute_sanitizer", 2, 1, ["ended with 9"], "build")) == 5, "runs of three tools")


def main():
    os.mkdir("bin")
    write("bin/nvidia-smi", NVIDIA_SMI)
    write("bin/compute-sanitizer", SANITIZER)
    for name in "CUDA_VISIBLE_DEVICES", "SP_EXPECT_EXCHANGES":
        os.environ.pop(name, None)
    for part in good, bad, sanitizers:
        part()


driver.start("gpu_script", "", [])
driver.in_folder(main)
driver.finish()
