"""A kernel of quadrants between two operations of CuPy: the same stream, no copies, no waits.

Usage: cupy_step.py LIBRARY, with the shared library that `cargo build -p quadrants-library-examples` makes.
"""

import sys

import cupy
import numpy

from session import CaptureRefused, Session

STEPS = 10_000
N = 4096

begin = cupy.arange(N, dtype=cupy.float32)
x, y = begin.copy(), cupy.zeros(N, dtype=cupy.float32)
session = Session(sys.argv[1], cupy.cuda.Device().id)
stream = cupy.cuda.Stream(non_blocking=True)
busy = cupy.RawKernel(
    'extern "C" __global__ void busy(long long n) { long long t = clock64(); while (clock64() - t < n) {} }', "busy"
)


def step():
    cupy.add(x, numpy.float32(1), out=x)  # CuPy
    session.relax(stream.ptr, ours_x, ours_y)  # quadrants: y = x / 2 + 1
    cupy.multiply(y, numpy.float32(2), out=x)  # CuPy


cupy.cuda.Device().synchronize()
with stream:
    # CuPy makes our stream, which has the same handle, wait for its own work.
    ours_x, ours_y = (session.from_dlpack(array, stream.ptr) for array in (x, y))
    step()
    stream.synchronize()
    cupy.copyto(x, begin)
    # No wait: all steps are enqueued while a kernel before them runs.
    busy((1,), (1,), (numpy.int64(200_000_000),))
    for _ in range(200):
        step()
    assert not stream.done, "the host waited"
    stream.synchronize()
    for _ in range(STEPS - 200):
        step()
    stream.synchronize()
# Each step adds 3, without rounding.
assert (x == begin + 3 * STEPS).all(), x[:4]
print(f"{STEPS} steps between operations of CuPy: x[0] is {x[0].item()}; the host did not wait")

# A tensor of quadrants as an array of CuPy.
ours = session.zeros(N)
session.relax(stream.ptr, ours_x, ours)
theirs = cupy.from_dlpack(ours)
assert (cupy.asnumpy(theirs) == cupy.asnumpy(x) * numpy.float32(0.5) + 1).all()
ours.drop()
del theirs

# A capture of CuPy is refused, and goes on.
with stream:
    x.fill(3)
    stream.begin_capture()
    cupy.add(x, numpy.float32(1), out=x)
    try:
        session.relax(stream.ptr, ours_x, ours_y)
        raise AssertionError("captured")
    except CaptureRefused as refused:
        print("inside a capture of CuPy:", refused)
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
assert (cupy.asnumpy(x) == 4).all(), x[:4]
for tensor in (ours_x, ours_y):
    tensor.drop()
session.close()
