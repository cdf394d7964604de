//! A struct of tensors that implements `Deref`: a private field could be a field of the target for rustc.

use quadrants::{self as qd, Tensor};

#[derive(qd::Tensors)]
pub struct Hidden<'a> {
    at: &'a mut Tensor<u64, 1>,
}

pub struct Target {
    pub at: Tensor<usize, 1>,
}

static TARGET: std::sync::OnceLock<Target> = std::sync::OnceLock::new();

impl std::ops::Deref for Hidden<'_> {
    type Target = Target;
    fn deref(&self) -> &Target {
        TARGET.get().expect("set by the program")
    }
}

fn main() {}
