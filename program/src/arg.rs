//! What can stand as a kernel's argument.

use quadrants_ir::{Const, ParamKind};
use quadrants_runtime::Buffer;
use smallvec::SmallVec;
use std::sync::Arc;

use crate::{Element, Tensor, program::ProgramInner};

/// An argument of a launch: a scalar, `&Tensor` or `&mut Tensor`.
pub trait Arg<'a> {
    /// The argument, without its Rust type.
    fn into_arg(self) -> ArgValue<'a>;
}

/// An argument without its Rust type.
#[derive(Debug)]
pub struct ArgValue<'a>(pub(crate) ArgKind<'a>);

#[derive(Debug)]
pub(crate) enum ArgKind<'a> {
    Scalar(Const),
    Tensor(TensorArg<'a>),
}

#[derive(Debug)]
pub(crate) struct TensorArg<'a> {
    pub(crate) program: &'a Arc<ProgramInner>,
    pub(crate) buffer: &'a Buffer,
    pub(crate) kind: ParamKind,
    pub(crate) shape: SmallVec<[u64; 3]>,
}

impl<'a, T: Element> Arg<'a> for T {
    fn into_arg(self) -> ArgValue<'a> {
        ArgValue(ArgKind::Scalar(self.into()))
    }
}

impl<'a, T: Element, const N: usize> Arg<'a> for &'a Tensor<T, N> {
    fn into_arg(self) -> ArgValue<'a> {
        tensor_arg(self, false)
    }
}

impl<'a, T: Element, const N: usize> Arg<'a> for &'a mut Tensor<T, N> {
    fn into_arg(self) -> ArgValue<'a> {
        tensor_arg(self, true)
    }
}

fn tensor_arg<T: Element, const N: usize>(tensor: &Tensor<T, N>, writable: bool) -> ArgValue<'_> {
    let (program, buffer, shape) = tensor.core();
    ArgValue(ArgKind::Tensor(TensorArg {
        program,
        buffer,
        // No kernel has so many dimensions that they are cut off here.
        kind: ParamKind::Tensor {
            elem: T::TYPE,
            rank: u8::try_from(N).unwrap_or(u8::MAX),
            writable,
        },
        shape: shape.iter().map(|extent| *extent as u64).collect(),
    }))
}

impl ArgKind<'_> {
    /// Whether the argument can stand for a parameter; a writable tensor can also be read only.
    pub(crate) fn fits(&self, param: ParamKind) -> bool {
        match (self, param) {
            (Self::Scalar(value), ParamKind::Scalar(ty)) => value.ty() == ty,
            (Self::Tensor(tensor), ParamKind::Tensor { elem, rank, writable }) => {
                let ParamKind::Tensor { elem: e, rank: r, writable: w } = tensor.kind else {
                    return false;
                };
                e == elem && r == rank && (w || !writable)
            }
            _ => false,
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Scalar(value) => value.ty().to_string(),
            Self::Tensor(tensor) => describe(tensor.kind),
        }
    }
}

/// A parameter as Rust writes it.
pub(crate) fn describe(kind: ParamKind) -> String {
    match kind {
        ParamKind::Scalar(ty) => ty.to_string(),
        ParamKind::Tensor { elem, rank, writable } => {
            format!("&{}Tensor<{elem}, {rank}>", if writable { "mut " } else { "" })
        }
    }
}
