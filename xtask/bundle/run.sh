#!/bin/sh
# Tests quadrants on this machine's @BACKEND@ device: the backend's own suite, the whole-system suite
# and the simulations' tests (also with an argument limit of 0, and without graphs), then the galaxies example on the processor and
# on the device, and the simulations on the device.
# Kernels are compiled anew, whatever is kept on this machine.
# Needs a driver and, for kernels that are compiled here, its run-time compiler; no Rust.
# The last line says how many tests passed, failed and were skipped; the exit status is 0 when none failed.
set -u
backend=@BACKEND@
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=${QUADRANTS_BUNDLE_OUT:-"$here/out"}
mkdir -p "$out" || exit 2

export QUADRANTS_TEST_BACKENDS=$backend
export QUADRANTS_TEST_DEVICE=hardware
export QUADRANTS_CACHE=off
unset QUADRANTS_CUDA_LIBRARY QUADRANTS_HIP_LIBRARY

passed=0
failed=0
skipped=0

# suite NAME PROGRAM ARGUMENTS...: runs a test program and adds its counts.
suite() {
    printf '\n== %s\n' "$1"
    name=$1
    log="$out/$name.log"
    program=$2
    shift 2
    "$here/bin/$program" --show-output "$@" >"$log" 2>&1
    status=$?
    grep -E '^test .* \.\.\. FAILED' "$log"
    [ "$status" -eq 0 ] || sed -n '/^failures:/,$p' "$log" | head -n 200
    result=$(grep '^test result: ' "$log" | tail -n 1)
    if [ -z "$result" ]; then
        echo "$name ended with status $status before it counted its tests; the end of its log:"
        tail -n 40 "$log"
        failed=$((failed + 1))
        return
    fi
    printf '%s\n' "$result"
    ok=$(printf '%s' "$result" | sed 's/.* \([0-9]*\) passed.*/\1/')
    bad=$(printf '%s' "$result" | sed 's/.* \([0-9]*\) failed.*/\1/')
    ignored=$(printf '%s' "$result" | sed 's/.* \([0-9]*\) ignored.*/\1/')
    # A test that says `skipped:` has passed as far as its program knows.
    said=$(awk '/^---- .* stdout ----$/ { name = $2 } /^skipped: / { seen[name] = 1 }
                END { for (n in seen) k++; print k + 0 }' "$log")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        echo "$name ended with status $status after its tests"
        bad=1
    fi
    passed=$((passed + ok - said))
    failed=$((failed + bad))
    skipped=$((skipped + ignored + said))
}

# check NAME COMMAND...: a step that counts as one test.
check() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAILED: $name"
        failed=$((failed + 1))
    fi
}

"$here/bin/quadrants" info
suite backend-suite backend-suite
suite system-suite system-suite @SKIP@
suite examples-suite examples-suite
QUADRANTS_ARGUMENT_LIMIT=0
export QUADRANTS_ARGUMENT_LIMIT
suite system-suite-limit-0 system-suite @SKIP@
suite examples-suite-limit-0 examples-suite
unset QUADRANTS_ARGUMENT_LIMIT
QUADRANTS_GRAPHS=off
export QUADRANTS_GRAPHS
suite system-suite-no-graphs system-suite @SKIP@
unset QUADRANTS_GRAPHS

check "galaxies on cpu" \
    "$here/bin/galaxies" --input "$here/photo.png" --backend cpu --out "$out/cpu"
for streams in explicit parallel serial; do
    check "galaxies on $backend, streams $streams" \
        "$here/bin/galaxies" --input "$here/photo.png" --backend "$backend" --streams "$streams" \
        --out "$out/$backend-$streams" --expect "$out/cpu/sources.csv"
done

for program in "$here"/bin/examples/*; do
    name=${program##*/}
    check "$name on $backend" "$program" --backend "$backend" --out "$out/$name"
done

printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
