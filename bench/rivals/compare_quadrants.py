"""Measures kernels of the benchmark suite in Quadrants, the Python package, and in this library, on one GPU.

    python3 compare_quadrants.py CORPUS [--arch cuda|cpu] [--fast-math] [--small]

CORPUS is the program `corpus` of this folder's package. Each kernel is written as the suite's, with the suite's sizes,
its data is random of the same kind, and the time is that of a launch (or of all launches of a case) among many without
waits between them. Prints a table with the medians in milliseconds. By default, Quadrants approximates divisions and
functions such as sines, which this library does only on request; here it does so with `--fast-math`. It checks no
index. `--small` only runs the kernels of Quadrants.
"""

import argparse
import json
import math
import subprocess
import time

import numpy as np
import quadrants as qd

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("corpus")
parser.add_argument("--arch", choices=["cuda", "cpu"], default="cuda")
parser.add_argument("--fast-math", action="store_true")
parser.add_argument("--small", action="store_true")
options = parser.parse_args()
qd.init(arch=getattr(qd, options.arch), default_fp=qd.f32, default_ip=qd.i32, fast_math=options.fast_math)

F1, F2 = (qd.types.ndarray(dtype=qd.f32, ndim=n) for n in (1, 2))
U1, U2 = (qd.types.ndarray(dtype=qd.u32, ndim=n) for n in (1, 2))
V1 = qd.types.ndarray(dtype=qd.types.vector(4, qd.f32), ndim=1)


@qd.kernel
def jacobi_start(a0: F2, a: F2):
    for i, j in qd.ndrange(a.shape[0], a.shape[1]):
        a[i, j] = a0[i, j]


@qd.kernel
def jacobi_step(a: F2, b: F2):
    for i, j in qd.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
        b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
    for i, j in qd.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
        a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


@qd.kernel
def gesummv(alpha: qd.f32, beta: qd.f32, a: F2, b: F2, x: F1, y: F1):
    for i in range(y.shape[0]):
        ax = 0.0
        bx = 0.0
        for j in range(x.shape[0]):
            ax += a[i, j] * x[j]
            bx += b[i, j] * x[j]
        y[i] = alpha * ax + beta * bx


@qd.func
def normal_distribution(d: qd.f32) -> qd.f32:
    k = 1.0 / (1.0 + 0.2316419 * qd.abs(d))
    polynomial = k * (0.31938153 + k * (-0.35656378 + k * (1.7814779 + k * (-1.8212559 + k * 1.3302745))))
    tail = 0.3989423 * qd.exp(-0.5 * d * d) * polynomial
    return qd.select(d > 0.0, 1.0 - tail, tail)


@qd.kernel
def price(rate: qd.f32, volatility: qd.f32, spot: F1, strike: F1, years: F1, call: F1, put: F1):
    for i in range(spot.shape[0]):
        s, x, t = spot[i], strike[i], years[i]
        root = qd.sqrt(t)
        d1 = (qd.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / (volatility * root)
        d2 = d1 - volatility * root
        n1 = normal_distribution(d1)
        n2 = normal_distribution(d2)
        discounted = x * qd.exp(-rate * t)
        call[i] = s * n1 - discounted * n2
        put[i] = discounted * (1.0 - n2) - s * (1.0 - n1)


@qd.kernel
def waves(kx: F1, ky: F1, kz: F1, magnitude: F1, x: F1, y: F1, z: F1, real: F1, imaginary: F1):
    for i in range(x.shape[0]):
        re = 0.0
        im = 0.0
        for k in range(kx.shape[0]):
            angle = 6.2831855 * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i])
            re += magnitude[k] * qd.cos(angle)
            im += magnitude[k] * qd.sin(angle)
        real[i] = re
        imaginary[i] = im


@qd.kernel
def spmv_csr(starts: U1, columns: U1, values: F1, x: F1, y: F1):
    for i in range(y.shape[0]):
        sum = 0.0
        for k in range(qd.cast(starts[i], qd.i32), qd.cast(starts[i + 1], qd.i32)):
            sum += values[k] * x[columns[k]]
        y[i] = sum


@qd.kernel
def spmv_ell(columns: U2, values: F2, x: F1, y: F1):
    for i in range(y.shape[0]):
        sum = 0.0
        for k in range(values.shape[0]):
            sum += values[k, i] * x[columns[k, i]]
        y[i] = sum


@qd.kernel
def forces(cutoff: qd.f32, place: V1, neighbours: U2, out: V1):
    for i in range(place.shape[0]):
        here = place[i]
        force = qd.Vector([0.0, 0.0, 0.0, 0.0])
        for k in range(neighbours.shape[0]):
            d = here - place[neighbours[k, i]]
            r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            if r2 < cutoff * cutoff:
                inverse = 1.0 / r2
                sixth = inverse * inverse * inverse
                force += d * (inverse * sixth * (1.5 * sixth - 2.0))
        out[i] = force


def array(values):
    """A tensor with these elements."""
    kinds = {np.dtype(np.float32): qd.f32, np.dtype(np.uint32): qd.u32, np.dtype(np.int32): qd.i32}
    tensor = qd.ndarray(kinds[values.dtype], shape=values.shape)
    tensor.from_numpy(values)
    return tensor


def vectors(values):
    tensor = qd.Vector.ndarray(4, qd.f32, shape=values.shape[:1])
    tensor.from_numpy(values)
    return tensor


random = np.random.default_rng(1)


def uniform(*shape):
    return random.random(shape, dtype=np.float32)


def zeros(*shape):
    return array(np.zeros(shape, np.float32))


def jacobi_2d(n):
    a0, a, b = array(uniform(n, n)), zeros(n, n), array(uniform(n, n))

    def run():
        jacobi_start(a0, a)
        for _ in range(10):
            jacobi_step(a, b)

    return run


def gesummv_case(n):
    args = array(uniform(n, n)), array(uniform(n, n)), array(uniform(n)), zeros(n)
    return lambda: gesummv(1.5, 1.2, *args)


def black_scholes(n):
    between = lambda low, high: array(low + (high - low) * uniform(n))
    args = between(5.0, 30.0), between(1.0, 100.0), between(0.25, 10.0), zeros(n), zeros(n)
    return lambda: price(0.02, 0.3, *args)


def mri_q(n):
    args = [array(uniform(1024)) for _ in range(4)] + [array(uniform(n)) for _ in range(3)] + [zeros(n), zeros(n)]
    return lambda: waves(*args)


def csr(n):
    starts = np.zeros(n + 1, np.uint32)
    starts[1:] = np.cumsum((48.0 * random.random(n)).astype(np.uint32))
    count = int(starts[-1])
    columns = (random.random(count) * n).astype(np.uint32)
    args = array(starts), array(columns), array(uniform(count)), array(uniform(n)), zeros(n)
    return lambda: spmv_csr(*args)


def ell(n):
    columns = (random.random((24, n)) * n).astype(np.uint32)
    args = array(columns), array(uniform(24, n)), array(uniform(n)), zeros(n)
    return lambda: spmv_ell(*args)


def md(side):
    n = side**3
    index = np.arange(n)
    site = np.stack([index % side, index // side % side, index // side**2], 1)
    place = np.zeros((n, 4), np.float32)
    place[:, :3] = site + np.floor(16.0 * uniform(n, 3)) / 64.0
    near = [(k // 49 - 3, k // 7 % 7 - 3, k % 7 - 3) for k in range(343)]
    near = sorted((s for s in near if any(s)), key=lambda s: sum(x * x for x in s))[:56]
    row = lambda s: [(site[:, axis] + s[axis]) % side for axis in range(3)]
    neighbours = np.stack([(z * side + y) * side + x for x, y, z in map(row, near)]).astype(np.uint32)
    args = vectors(place), array(neighbours), vectors(np.zeros((n, 4), np.float32))
    return lambda: forces(2.1, *args)


# The name of the case in the suite, the case here, its size on GPUs and a small one.
CASES = [
    ("polybench/jacobi-2d", jacobi_2d, 4096, 45),
    ("polybench/gesummv", gesummv_case, 6144, 301),
    ("hecbench/black-scholes", black_scholes, 1 << 24, 3001),
    ("parboil/mri-q", mri_q, 1 << 18, 301),
    ("shoc/spmv csr", csr, 1 << 20, 333),
    ("shoc/spmv ell", ell, 1 << 20, 333),
    ("shoc/md", md, 96, 7),
]


def measure(run):
    """The median time of a run in milliseconds, of 9 batches of at least 20 ms."""
    run()
    qd.sync()
    begin = time.perf_counter()
    run()
    qd.sync()
    repeat = max(1, math.ceil(0.02 / (time.perf_counter() - begin)))
    samples = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(repeat):
            run()
        qd.sync()
        samples.append((time.perf_counter() - begin) / repeat)
    return 1e3 * sorted(samples)[len(samples) // 2]


def ours(name):
    """The times of this library and of its baseline, in milliseconds."""
    command = [options.corpus, "--backend", options.arch, "--filter", name, "--samples", "9"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        if line.startswith("{"):
            case = json.loads(line)
            if case["case"].split(",")[0] == name:
                return case["ours"]["median"], case["rivals"][0]["median"]
    raise SystemExit(f"{options.corpus} measured no case {name}")


if options.small:
    for name, case, _, small in CASES:
        case(small)()
        qd.sync()
        print(name, "ran")
    raise SystemExit

print(f"| kernel | ours, ms | Quadrants {'.'.join(map(str, qd.__version__))}, ms | ratio | plain baseline, ms |")
print("|---|---|---|---|---|")
for name, case, size, _ in CASES:
    theirs = measure(case(size))
    own, baseline = ours(name)
    print(f"| {name} | {own:.4g} | {theirs:.4g} | {own / theirs:.2f} | {baseline:.4g} |", flush=True)
