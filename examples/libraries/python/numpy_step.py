"""A kernel of quadrants on the CPU between two operations of NumPy, on the same memory.

Usage: numpy_step.py LIBRARY, with the shared library that `cargo build -p quadrants-library-examples` makes.
"""

import sys
import weakref

import numpy

from session import Session, traced

STEPS = 1000
N = 4096


class Owner(numpy.ndarray):
    """An array that can be watched."""




def steps(session, count):
    """Arrays of NumPy, and the same memory as tensors of quadrants, after `count` steps."""
    x = numpy.arange(N, dtype=numpy.float32).view(Owner)
    y = numpy.zeros(N, dtype=numpy.float32)
    ours_x, ours_y = session.from_dlpack(x), session.from_dlpack(y)
    for _ in range(count):
        x += 1  # NumPy
        session.relax(0, ours_x, ours_y)  # quadrants: y = x / 2 + 1
        numpy.multiply(y, 2, out=x)  # NumPy
    # Each step adds 3, without rounding.
    assert (x == numpy.arange(N) + 3 * count).all(), x[:4]
    return x, y, ours_x, ours_y


def session_of_100_steps():
    session = Session(sys.argv[1], -1)
    for tensor in steps(session, 100)[2:]:
        tensor.drop()
    session.close()


spans = traced(session_of_100_steps)
print("spans of 100 steps:", dict(spans))
assert spans["task"] == 100, spans
session = Session(sys.argv[1], -1)
x, y, ours_x, ours_y = steps(session, STEPS)
print(f"{STEPS} steps between operations of NumPy: x[0] is {x[0]}")

# The tensor keeps the array, and lets it go.
watch = weakref.ref(x)
del x
assert watch() is not None
ours_x.drop()
assert watch() is None, "the deleter ran"

# A tensor of quadrants as an array of NumPy, which keeps its memory.
ours = session.zeros(N)
theirs = numpy.from_dlpack(ours)
session.relax(0, ours_y, ours)
assert (theirs == y * 0.5 + 1).all() and theirs.any(), theirs[:4]
ours.drop()
assert (theirs == y * 0.5 + 1).all()
del theirs
# A capsule that nobody consumes frees its tensor.
unused = session.zeros(N)
for version in (None, (1, 0)):
    capsule = unused.__dlpack__(max_version=version)
    del capsule
unused.drop()

# What cannot be shared.
read_only = numpy.zeros(N, dtype=numpy.float32)
read_only.flags.writeable = False
for array, reason in [
    (numpy.zeros(N), "f64"),
    (numpy.zeros((4, 4), dtype=numpy.float32), "dimensions is 2"),
    (numpy.zeros(2 * N, dtype=numpy.float32)[::2], "strides"),
    (read_only, "must not be written"),
]:
    try:
        session.from_dlpack(array)
    except RuntimeError as error:
        assert reason in str(error), error
    except BufferError as error:  # NumPy before 2.1 refuses read-only arrays itself.
        assert array is read_only, error
    else:
        raise AssertionError(f"{reason}: not refused")
ours_y.drop()
session.close()
print("memory is shared both ways, and freed once")
