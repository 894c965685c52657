#!/usr/bin/env python3
"""The scripts tests/gpu and tests/compute_sanitizer on a machine that has no GPU: nvidia-smi and
compute-sanitizer are mocks, and so is the build folder, a copy with one real program.

    gpu_script.py PROGRAM MPIEXEC      PROGRAM is a test that takes `host` and any number of ranks"""

import os
import re
import shutil
import subprocess
import sys

import driver
from driver import check

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]

# Each rank writes the GPUs that it sees, and whether another run uses GPUs that a run on several must have
# for itself. The ranks of a run have one parent.
RECORD = """#!/bin/sh
mkdir -p "$RECORDS"
echo "$(basename "$0") $CUDA_VISIBLE_DEVICES $SP_EXPECT_EXCHANGES $SP_TEST_RANKS $*" >>"$RECORDS/all"
"""
ALONE = RECORD + """
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
  owner=$RECORDS/gpu$gpu
  case $CUDA_VISIBLE_DEVICES in
    *,*) (set -C; echo $PPID >"$owner") 2>/dev/null ;;
  esac
  seen=$(cat "$owner" 2>/dev/null) # nothing while another rank of its run creates or removes it
  if [ -n "$seen" ] && [ "$seen" != $PPID ]; then echo "CLASH on $gpu" >>"$RECORDS/all"; fi
done
sleep 0.2
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
  case $CUDA_VISIBLE_DEVICES in
    *,*) rm -f "$RECORDS/gpu$gpu" ;;
  esac
done
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
good_cuda_np2 2 60 tests/test_good cuda
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
    write("build/tests/test_good", ALONE)
    write("build/tests/test_race", RECORD)
    write("build/tests/test_bad", RECORD + "echo what went wrong; exit 1\n")
    write("build/tests/test_slow", RECORD + "sleep 30\n")
    write("build/tests/test_blind", RECORD + "exit 77\n")
    shutil.copy(PROGRAM, "build/tests/test_real")


def run(script, gpus, *arguments, **environment):
    """Returns the script's output, its exit code, and the lines recorded by the runs that it started."""
    shutil.rmtree("records", ignore_errors=True)
    shutil.rmtree("logs", ignore_errors=True)
    new = {**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}", "GPUS": str(gpus),
           "RECORDS": f"{os.getcwd()}/records", "MPIEXEC": MPIEXEC, **environment}
    new.pop("SP_EXPECT_EXCHANGES", None)
    new.update(environment)
    done = driver.command(os.path.join(HERE, script), *arguments, env=new, timeout=300, capture_output=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    if os.path.exists("records/all"):
        with open("records/all", encoding="utf-8") as file:
            lines = file.read().splitlines()
    return done.stdout, done.returncode, lines


def check_words(said, *words):
    for word in words:
        check(word in said, f"no '{word}' in {said}")


def cell(said, test, column):
    """An entry of the table."""
    for line in said[said.index("1 GPU "):].splitlines():
        if line.startswith(test + " "):
            found = re.findall(r"-(?= |$)|\w+ \d+ s", line[34:])
            return found[column].split()[0]
    return None


def all_pass():
    """On 1, 2 and 5 GPUs: how often each test runs, which GPUs it sees, and what is left out."""
    make_build(TESTS)
    for gpus in 1, 2, 5:
        said, code, lines = run("gpu", gpus, "build", "logs")
        check(code == 0, f"{gpus} GPUs: exit code {code}: {said}")
        counts = [count for count in (1, 2, 4) if count <= gpus]
        want = sorted(
            [f"{count} {ranks}" for ranks in (1, 2, 4) for count in counts if count <= ranks
             for _ in range(ranks)] +
            [f"{count} 2 staged" for count in counts if count <= 2 for _ in range(2)])
        check("CLASH" not in " ".join(lines), f"{gpus} GPUs: {lines}")
        got = []
        for line in lines:
            name, visible, rest = line.split(" ", 2)
            devices = visible.split(",")
            check(all(0 <= int(gpu) < gpus for gpu in devices) and
                  len(set(devices)) == len(devices), f"{gpus} GPUs: {line}")
            if name != "test_good":
                continue
            expected, ranks, arguments = re.fullmatch(r"(.*) (\d) cuda ?(.*)", rest).groups()
            check(expected == ("peer staged" if len(devices) == int(ranks) > 1 else "staged"),
                  f"{gpus} GPUs: {line}")
            got.append(f"{len(devices)} {ranks} {arguments}".strip())
        check(sorted(got) == want, f"{gpus} GPUs: {sorted(got)}, not {want}")
        used = {gpu for line in lines for gpu in line.split()[1].split(",")}
        check(len(used) >= min(gpus, 4), f"{gpus} GPUs, but used are {used}")
        for column, count in enumerate((1, 2, 4)):
            want = "passed" if count in counts else "-"
            check(cell(said, "good_cuda_np4", column) == want, f"{gpus} GPUs: no {want}: {said}")
        check(cell(said, "real_cuda_np2", 0) == "passed" and cell(said, "good_cuda_np1", 1) == "-",
              said)
        check_words(said, "absent_cuda_np1: no program tests/test_absent")
        check(("good_cuda_np4 on 4 GPUs: this machine has" in said) == (gpus < 4), said)
        for count in counts:
            check(os.path.exists(f"logs/good_cuda_np4.{count}.log"), f"no log for {count} GPUs")
        with open("logs/real_cuda_np2.1.log", encoding="utf-8") as file:
            check("0 failed" in file.read(), "the log of the real test")
        left = [name for name in os.listdir("logs") if not name.endswith((".log", ".result"))]
        check(not left, f"left: {left}")


def some():
    """Tests selected by name, with exchanges and GPUs from the environment."""
    make_build(TESTS)
    said, code, lines = run("gpu", 4, "build", "logs", "good_cuda", CUDA_VISIBLE_DEVICES="3,1",
                            SP_EXPECT_EXCHANGES="peer nccl staged")
    check(code == 0 and all(line.startswith("test_good") for line in lines), f"{code}: {said}")
    seen = {line.split()[1] for line in lines}
    check(seen == {"3", "1", "3,1"}, f"GPUs {seen}")
    check(any("3,1 peer nccl staged 2" in line for line in lines) and
          any(re.match(r"test_good [13] staged 2", line) for line in lines), f"{lines}")
    check_words(said, "good_cuda_np4 on 4 GPUs: this machine has 2")


def bad():
    """Failures, time-outs and tests that say they found no GPU."""
    make_build(TESTS + BAD)
    said, code, _ = run("gpu", 2, "build", "logs")
    check(code == 1, f"exit code {code}: {said}")
    check_words(said, "bad_cuda_np2 on 1 GPU(s): failed with exit code 1, see ",
                "bad_cuda_np2 on 2 GPU(s): failed", "slow_cuda_np1 on 1 GPU(s): timeout",
                "blind_cuda_np1 on 1 GPU(s): skipped with exit code 77", "4 failed")
    check(cell(said, "bad_cuda_np2", 0) == cell(said, "bad_cuda_np2", 1) == "failed", said)
    with open("logs/bad_cuda_np2.2.log", encoding="utf-8") as file:
        check("what went wrong" in file.read(), "the log of a failure")


def refused():
    make_build(TESTS)
    for word, gpus, *arguments in (("usage", 1, "build"), ("no folder absent", 1, "absent", "logs"),
                                   ("cuda_tests.txt", 1, "bin", "logs"),
                                   ("no GPU", 0, "build", "logs"),
                                   ("no test has a name with: nothing", 1, "build", "logs", "nothing")):
        said, code, lines = run("gpu", gpus, *arguments)
        check(code == 2 and word in said and not lines, f"{arguments}: {code} {said}")
    said, code, _ = run("gpu", 1, "build", "logs", MPIEXEC="/absent/mpirun")
    check(code == 2 and "/absent/mpirun" in said, f"{code} {said}")
    said, code, _ = run("gpu", 1, "build", "logs", "absent")
    check(code == 1 and "0 passed" in said, f"nothing can be run: {code} {said}")
    write("build/tests/cuda_tests.txt", "")
    said, code, _ = run("gpu", 1, "build", "logs")
    check(code == 2 and "without CUDA" in said, f"{code} {said}")


def sanitizers():
    make_build(TESTS)
    said, code, lines = run("compute_sanitizer", 2, "build", "memcheck")
    check(code == 0 and "all clean" in said, f"{code} {said}")
    check(sorted(line.split()[0] for line in lines) == ["test_good", "test_race"], f"{lines}")
    said, code, lines = run("compute_sanitizer", 2, "build")
    check(code == 1 and len(lines) == 5 and "ended with 9" in said, f"{code} {said} {lines}")
    check(os.path.exists("build/compute-sanitizer/racecheck.race_cuda_np1.log"), "no log")
    said, code, _ = run("compute_sanitizer", 0, "build")
    check(code == 2 and "no GPU" in said, f"{code} {said}")


def main():
    os.mkdir("bin")
    write("bin/nvidia-smi", NVIDIA_SMI)
    write("bin/compute-sanitizer", SANITIZER)
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    for part in all_pass, some, bad, refused, sanitizers:
        part()


driver.start("gpu_script", "", [])
driver.in_folder(main)
driver.finish()
