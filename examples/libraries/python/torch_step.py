"""A kernel of quadrants between two operations of PyTorch: the same stream, no copies, no waits.

Usage: torch_step.py LIBRARY, with the shared library that `cargo build -p quadrants-library-examples` makes. On a
machine without a GPU, the same steps run on PyTorch's tensors in the memory of the CPU.
"""

import sys
import time

import torch

from session import CaptureRefused, Session, traced

STEPS = 10_000
N = 4096
ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda", torch.cuda.current_device()) if ON_GPU else torch.device("cpu")
ORDINAL = DEVICE.index if ON_GPU else -1


def current_stream():
    return torch.cuda.current_stream().cuda_stream if ON_GPU else 0


def synchronize():
    if ON_GPU:
        torch.cuda.synchronize()


class Steps:
    """PyTorch's tensors, and the same memory as tensors of quadrants."""

    def __init__(self, library):
        self.session = Session(library, ORDINAL)
        self.begin = torch.arange(N, device=DEVICE, dtype=torch.float32)
        self.x = self.begin.clone()
        self.y = torch.zeros(N, device=DEVICE)
        synchronize()
        self.ours = [self.session.from_dlpack(tensor) for tensor in (self.x, self.y)]

    def step(self):
        self.x.add_(1.0)  # PyTorch
        self.session.relax(current_stream(), *self.ours)  # quadrants: y = x / 2 + 1
        torch.mul(self.y, 2.0, out=self.x)  # PyTorch

    def step_of_torch(self):
        self.x.add_(1.0)
        torch.add(torch.mul(self.x, 0.5), 1.0, out=self.y)
        torch.mul(self.y, 2.0, out=self.x)

    def run(self, step, steps):
        """The host's time for each step, and that of the device."""
        self.x.copy_(self.begin)
        synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        enqueued = time.perf_counter()
        synchronize()
        end = time.perf_counter()
        # Each step adds 3, without rounding.
        assert torch.equal(self.x, self.begin + 3 * steps), self.x[:4]
        return (enqueued - begin) / steps * 1e6, (end - begin) / steps * 1e6

    def close(self):
        synchronize()
        for tensor in self.ours:
            tensor.drop()
        self.session.close()


def session_of_100_steps(library):
    steps = Steps(library)
    steps.run(steps.step, 100)
    steps.close()


def compare(steps, name):
    steps.run(steps.step, 100)
    ours = steps.run(steps.step, STEPS)
    theirs = steps.run(steps.step_of_torch, STEPS)
    print(f"{name}: {STEPS} steps in order; host {ours[0]:.2f} us per step, with waits {ours[1]:.2f}")
    print(f"  the same by PyTorch alone (one operation more): {theirs[0]:.2f}, {theirs[1]:.2f}")


def no_wait(steps):
    """All steps are enqueued while a kernel before them runs, so the host waits for none."""
    memory, done = torch.cuda.memory_allocated(), torch.cuda.Event()
    torch.cuda._sleep(200_000_000)
    done.record()
    for _ in range(200):
        steps.step()
    assert not done.query(), "the host waited"
    assert torch.cuda.memory_allocated() == memory
    torch.cuda.synchronize()
    print("200 steps are enqueued while the stream is busy: the host does not wait")


def export(steps):
    """A tensor of quadrants as one of PyTorch, which keeps its memory and is ordered after the kernel."""
    ours = steps.session.zeros(N)
    steps.session.relax(current_stream(), steps.ours[0], ours)
    theirs = torch.from_dlpack(ours)
    ours.drop()
    assert theirs.device == DEVICE and torch.equal(theirs, steps.x * 0.5 + 1.0)


def captured(steps):
    """A capture of PyTorch refuses the kernel with a typed error, and goes on."""
    graph = torch.cuda.CUDAGraph()
    steps.x.fill_(3.0)
    torch.cuda.synchronize()
    refused = None
    with torch.cuda.graph(graph):
        steps.x.add_(1.0)
        try:
            steps.session.relax(current_stream(), *steps.ours)
        except CaptureRefused as error:
            refused = error
    assert refused is not None, "captured"
    for expected in (4.0, 5.0):
        graph.replay()
        assert steps.x[0].item() == expected, steps.x[:4]
    print("inside torch.cuda.CUDAGraph:", refused)


def main(library):
    spans = traced(lambda: session_of_100_steps(library))
    print("spans of 100 steps:", dict(spans))
    assert spans["task"] == 100, spans
    steps = Steps(library)
    if not ON_GPU:
        compare(steps, "the CPU")
        export(steps)
        return steps.close()
    for name, stream in [("default stream", torch.cuda.default_stream()), ("own stream", torch.cuda.Stream())]:
        with torch.cuda.stream(stream):
            compare(steps, name)
            no_wait(steps)
            export(steps)
    captured(steps)
    compare(steps, "after the capture")
    steps.close()


if __name__ == "__main__":
    main(sys.argv[1])
