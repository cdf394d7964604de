//! What can stand as a kernel's argument.

use quadrants_ir::{Const, ParamKind};
use quadrants_runtime::Pieces;

use smallvec::SmallVec;

use crate::{
    Device, Slice, SliceMut, Tensor,
    host::HostElements,
    layout::{ComponentAt, Stored},
    tensor::{Elements, TensorCore, count},
};

/// An argument of a launch: a value of kernels, a tensor or a part of one by reference.
pub trait Arg<'a> {
    /// Appends the argument: a value as the scalars that it is made of.
    fn push_to(self, args: &mut ArgList<'a>);
}

/// Arguments without their Rust types.
#[derive(Debug, Default)]
pub struct ArgList<'a>(pub(crate) SmallVec<[ArgKind<'a>; 8]>);

#[derive(Debug, Clone, Copy)]
pub(crate) enum ArgKind<'a> {
    Scalar(Const),
    Tensor(TensorArg<'a>),
    /// To be put into device memory first; no launcher sees it.
    Host(TensorArg<'a, &'a dyn HostElements>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorArg<'a, C = &'a TensorCore> {
    pub(crate) core: C,
    pub(crate) shape: &'a [usize],
    pub(crate) kind: ParamKind,
    /// Of a component, where it lies.
    pub(crate) component: Option<&'a ComponentAt>,
}

impl<'a, T: Device> Arg<'a> for T {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        self.give(&mut |scalar| args.0.push(ArgKind::Scalar(scalar)));
    }
}

impl<'a, T: Device, const N: usize> Arg<'a> for &'a Tensor<T, N> {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, false, args);
    }
}

impl<'a, T: Device, const N: usize> Arg<'a> for &'a mut Tensor<T, N> {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, true, args);
    }
}

impl<'a, T: Device, const N: usize> Arg<'a> for &'a Slice<'_, T, N> {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, false, args);
    }
}

impl<'a, T: Device, const N: usize> Arg<'a> for &'a mut SliceMut<'_, T, N> {
    #[inline]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, true, args);
    }
}

/// Appends a tensor: one of aggregates as the components that its elements have.
#[inline]
fn push_tensor<'a, T: Device, const N: usize>(
    tensor: &'a Tensor<T, N>,
    writable: bool,
    args: &mut ArgList<'a>,
) {
    // No kernel has so many dimensions that they are cut off here.
    let rank = const { if N > u8::MAX as usize { u8::MAX } else { N as u8 } };
    let (elements, shape) = tensor.elements();
    match elements {
        Elements::Device(core) => {
            each_component::<T, _>(core, &core.stored, rank, writable, |arg| {
                args.0.push(ArgKind::Tensor(TensorArg { shape, ..arg }));
            })
        }
        Elements::Host(array) => {
            let array: &dyn HostElements = array;
            each_component::<T, _>(array, array.stored(), rank, writable, |arg| {
                args.0.push(ArgKind::Host(TensorArg { shape, ..arg }));
            });
        }
    }
}

/// The arguments that a tensor is: one of scalars is one.
#[inline]
fn each_component<'a, T: Device, C: Copy>(
    core: C,
    stored: &'a Stored,
    rank: u8,
    writable: bool,
    mut give: impl FnMut(TensorArg<'a, C>),
) {
    if let Some(elem) = const { T::LAYOUT.scalar() } {
        let kind = ParamKind::Tensor { elem, rank, writable };
        give(TensorArg { core, shape: &[], kind, component: None });
        return;
    }
    for component in &stored.components {
        let scalars = u32::try_from(component.scalars).unwrap_or(u32::MAX);
        let kind = ParamKind::Component { elem: component.ty, rank, writable, scalars };
        give(TensorArg { core, shape: &[], kind, component: Some(component) });
    }
}

impl TensorArg<'_> {
    /// Whether it can stand for a parameter of another kind.
    fn serves(&self, param: ParamKind) -> bool {
        let given = self.kind;
        let scalars = |kind| match kind {
            ParamKind::Component { scalars, .. } => Some(scalars),
            _ => None,
        };
        given.elem() == param.elem()
            && given.rank() == param.rank()
            && scalars(given) == scalars(param)
            && (given.is_writable() || !param.is_writable())
    }

    /// Which bytes of the buffer it is.
    pub(crate) fn bytes(&self) -> Pieces {
        self.core.pieces(self.component, count(self.shape))
    }
}

impl ArgKind<'_> {
    /// Whether the argument can stand for a parameter; a writable tensor can also be read only.
    #[inline]
    pub(crate) fn fits(&self, param: ParamKind) -> bool {
        match (self, param) {
            (Self::Scalar(value), ParamKind::Scalar(ty)) => value.ty() == ty,
            (Self::Scalar(_) | Self::Host(_), _) | (_, ParamKind::Scalar(_)) => false,
            (Self::Tensor(tensor), _) => tensor.kind == param || tensor.serves(param),
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Scalar(value) => value.ty().to_string(),
            Self::Tensor(TensorArg { kind, .. }) | Self::Host(TensorArg { kind, .. }) => {
                describe(*kind)
            }
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
        ParamKind::Component { elem, rank, writable, scalars } => {
            let sign = if writable { "mut " } else { "" };
            format!("a component of {scalars} {elem} of a &{sign}Tensor<_, {rank}>")
        }
    }
}
