//! Kernels for the tests, built as IR.

use quadrants_ir::{
    AtomicOp, BinaryOp, Kernel, SimImage,
    abi::{Forms, Passing},
    offload,
};
use quadrants_samples::{Builder, U32, U64};

/// `for i in 0..dst.len() { dst[i] = src[i] + v }`
pub(crate) fn add() -> Kernel {
    let mut b = Builder::new("add");
    let (dst, src) = (b.tensor("dst", U32, 1), b.read_only("src", U32, 1));
    let v = b.scalar("v", U32);
    let (begin, end) = (b.constant(0u64), b.dim(dst, 0));
    b.parallel_loop(&[("i", begin, end)], |b, i| {
        let x = b.let_load("x", src, i);
        let sum = b.binary(BinaryOp::Add, x, v);
        b.push_store(dst, i, sum);
    });
    b.kernel
}

/// `for i in 0..n { atomic_add(&mut counter[0], 1) }`
pub(crate) fn count() -> Kernel {
    let mut b = Builder::new("count");
    let counter = b.tensor("counter", U32, 1);
    let n = b.scalar("n", U64);
    let (zero, one) = (b.constant(0u64), b.constant(1u32));
    b.parallel_loop(&[("i", zero, n)], |b, _| {
        let old = b.atomic(AtomicOp::Add, counter, &[zero], one);
        b.define("old", old, false);
    });
    b.kernel
}

/// The argument block of [`count`], for a tensor of one element.
pub(crate) fn count_args(counter: u64, n: u64) -> [u64; 6] {
    [0, 0, 0, counter, 1, n]
}

/// A loop without iterations.
pub(crate) fn nothing() -> Kernel {
    let mut b = Builder::new("nothing");
    let zero = b.constant(0u64);
    b.parallel_loop(&[("i", zero, zero)], |_, _| {});
    b.kernel
}

/// A block of four threads, which writes its numbers to a dynamic array of `n` words.
pub(crate) fn dynamic() -> Kernel {
    let mut b = Builder::new("dynamic");
    let n = b.scalar("n", U64);
    let one = b.constant(1u64);
    let mut len = None;
    b.serial_block(|b| len = Some(b.define("len", n, false)));
    b.blocks(one, 4, |b, _| {
        let len = len.expect("defined").into();
        let tile = b.dynamic("tile", U64, &[len], None);
        b.each(|b, t| b.shared_store(tile, &[t], t));
    });
    b.kernel
}

/// A module's image.
pub(crate) fn image(kernel: &Kernel, passing: Passing) -> Vec<u8> {
    let kernel = offload(kernel).expect("the kernel is valid");
    SimImage { kernel, forms: Forms::PROVEN, passing }.encode()
}

/// The argument block of [`add`], for tensors of `len` elements.
pub(crate) fn add_args(dst: u64, src: u64, len: u64, v: u32) -> [u64; 8] {
    [0, 0, 0, dst, len, src, len, u64::from(v)]
}
