//! What can stand as a kernel's argument.

use std::ops::Range;

use quadrants_ir::{Const, ParamKind};

use smallvec::SmallVec;

use crate::{
    Device, Element, Tensor,
    tensor::{TensorCore, count},
};

/// An argument of a launch: a value of kernels, `&Tensor` or `&mut Tensor`.
pub trait Arg<'a> {
    /// Appends the argument: a value as the scalars that it is made of.
    fn push_to(self, args: &mut ArgList<'a>);
}

/// Arguments without their Rust types.
#[derive(Debug, Default)]
pub struct ArgList<'a>(pub(crate) SmallVec<[ArgKind<'a>; 8]>);

#[derive(Debug)]
pub(crate) enum ArgKind<'a> {
    Scalar(Const),
    Tensor(TensorArg<'a>),
}

#[derive(Debug)]
pub(crate) struct TensorArg<'a> {
    pub(crate) core: &'a TensorCore,
    pub(crate) shape: &'a [usize],
    pub(crate) kind: ParamKind,
}

impl<'a, T: Device> Arg<'a> for T {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        self.give(&mut |scalar| args.0.push(ArgKind::Scalar(scalar)));
    }
}

impl<'a, T: Element, const N: usize> Arg<'a> for &'a Tensor<T, N> {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        args.0.push(tensor_arg(self, false));
    }
}

impl<'a, T: Element, const N: usize> Arg<'a> for &'a mut Tensor<T, N> {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        args.0.push(tensor_arg(self, true));
    }
}

#[inline]
fn tensor_arg<T: Element, const N: usize>(tensor: &Tensor<T, N>, writable: bool) -> ArgKind<'_> {
    let (core, shape) = tensor.core();
    // No kernel has so many dimensions that they are cut off here.
    let rank = const { if N > u8::MAX as usize { u8::MAX } else { N as u8 } };
    let kind = ParamKind::Tensor { elem: T::TYPE, rank, writable };
    ArgKind::Tensor(TensorArg { core, shape, kind })
}

impl TensorArg<'_> {
    /// Which bytes of the buffer it is.
    pub(crate) fn bytes(&self) -> Range<usize> {
        let element = match self.kind {
            ParamKind::Tensor { elem, .. } => elem.size(),
            ParamKind::Scalar(ty) => ty.size(),
        };
        let begin = self.core.offset();
        begin..begin + element * count(self.shape)
    }
}

impl ArgKind<'_> {
    /// Whether the argument can stand for a parameter; a writable tensor can also be read only.
    #[inline]
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
