"""The functions of `src/python.rs`, by ctypes, and DLPack's side of Python."""

import collections
import ctypes
import json
import os
import tempfile
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_uint64, c_void_p

OK, FAILED, CAPTURED = range(3)
NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class CaptureRefused(RuntimeError):
    """Other code captures the stream. Nothing was enqueued, and the capture goes on."""


def traced(run):
    """What quadrants does while `run` opens and closes a session, by its own trace: the number of spans of each kind.

    No copies are among them, and no waits but those at the end.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        os.environ["QUADRANTS_TRACE"] = path
        try:
            run()
        finally:
            del os.environ["QUADRANTS_TRACE"]
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    spans = collections.Counter(event["cat"] for event in events if event["ph"] == "X")
    # Closing the session waits for its streams.
    assert spans["host wait"] < 10 and not [kind for kind in spans if kind.startswith("copy")], spans
    return spans


class Session:
    """A program of quadrants. `library` is the path of the shared library; a negative `device` means the CPU."""

    def __init__(self, library, device):
        self._library = ctypes.CDLL(library)
        tensor, out = c_void_p, POINTER(c_void_p)
        for name, result, arguments in [
            ("error", ctypes.c_char_p, []),
            ("open", c_void_p, [c_int]),
            ("import", c_int, [c_void_p, c_void_p, c_int, out]),
            ("zeros", c_int, [c_void_p, c_size_t, out]),
            ("export", c_int, [c_void_p, tensor, c_int64, c_int, out]),
            ("device", c_uint64, [c_void_p]),
            ("relax", c_int, [c_void_p, c_int64, tensor, tensor]),
            ("drop", None, [tensor]),
            ("close", None, [c_void_p]),
        ]:
            function = getattr(self._library, f"quadrants_{name}")
            function.restype, function.argtypes = result, arguments
        self.handle = self._library.quadrants_open(device)
        if not self.handle:
            raise RuntimeError(self.error())
        number = self._library.quadrants_device(self.handle)
        self.device = (number >> 32, number & 0xFFFFFFFF)

    def error(self):
        return self._library.quadrants_error().decode()

    def check(self, status):
        if status != OK:
            raise (CaptureRefused if status == CAPTURED else RuntimeError)(self.error())

    def from_dlpack(self, array, stream=None):
        """The memory of `array` as a tensor, without a copy, in the order of our stream of that number."""
        order = {} if stream is None else {"stream": stream}
        try:
            capsule = array.__dlpack__(max_version=(1, 0), **order)
        except TypeError:  # A producer of the time before DLPack 1.
            capsule = array.__dlpack__(**order)
        versioned = bool(_python.PyCapsule_IsValid(capsule, NAMES[True]))
        managed = _python.PyCapsule_GetPointer(capsule, NAMES[versioned])
        # From here on, quadrants calls the deleter.
        _python.PyCapsule_SetName(capsule, USED[versioned])
        out = c_void_p()
        self.check(self._library.quadrants_import(self.handle, managed, versioned, byref(out)))
        return Tensor(self, out)

    def zeros(self, n):
        out = c_void_p()
        self.check(self._library.quadrants_zeros(self.handle, n, byref(out)))
        return Tensor(self, out)

    def relax(self, stream, x, y):
        """Enqueues y = x / 2 + 1 on a stream, given by its handle."""
        status = self._library.quadrants_relax(self.handle, stream, x.handle, y.handle)
        if status != OK:
            self.check(status)

    def close(self):
        """Waits for the work, and closes the session. Its tensors are dropped before."""
        self._library.quadrants_close(self.handle)


class Tensor:
    """A tensor of a session. `torch.from_dlpack` and others take it without a copy."""

    def __init__(self, session, handle):
        self.session, self.handle = session, handle

    def __dlpack_device__(self):
        return self.session.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy or (dl_device is not None and tuple(dl_device) != self.session.device):
            raise BufferError("quadrants gives out its memory without a copy, where it is")
        if stream is None:
            # Without a number, it is the default stream, which the protocol calls 1 on CUDA.
            stream = 1 if self.session.device[0] == 2 else 0
        versioned = max_version is not None and max_version[0] >= 1
        library, out = self.session._library, c_void_p()
        self.session.check(
            library.quadrants_export(self.session.handle, self.handle, stream, versioned, byref(out))
        )
        return _python.PyCapsule_New(out, NAMES[versioned], ctypes.cast(_free_unused, c_void_p))

    def drop(self):
        self.session._library.quadrants_drop(self.handle)


class _Managed(ctypes.Structure):
    """The end of `DLManagedTensor`, after its tensor of 48 bytes."""

    _fields_ = [("tensor", ctypes.c_ubyte * 48), ("manager", c_void_p), ("deleter", c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    """The beginning of `DLManagedTensorVersioned`."""

    _fields_ = [("version", ctypes.c_uint32 * 2), ("manager", c_void_p), ("deleter", c_void_p)]


@ctypes.CFUNCTYPE(None, c_void_p)
def _free_unused(capsule):
    """The destructor of a capsule. A consumer has renamed it, and calls the deleter itself."""
    # The capsule is being destroyed, so that no reference to it may be made: its address is passed on.
    is_valid, pointer = (
        ctypes.PYFUNCTYPE(restype, c_void_p, ctypes.c_char_p)((name, ctypes.pythonapi))
        for name, restype in [("PyCapsule_IsValid", c_int), ("PyCapsule_GetPointer", c_void_p)]
    )
    for versioned, struct in [(True, _ManagedVersioned), (False, _Managed)]:
        if is_valid(capsule, NAMES[versioned]):
            managed = pointer(capsule, NAMES[versioned])
            deleter = struct.from_address(managed).deleter
            ctypes.CFUNCTYPE(None, c_void_p)(deleter)(managed)
