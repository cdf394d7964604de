//! What can stand as a kernel's argument, and how a launch's arguments are gathered.
//!
//! The words of the argument block are written where an argument is given, since there its type says how many
//! they are: a launch goes over its arguments once less, and compares a word of each.

use std::{
    cell::Cell,
    fmt,
    mem::{self, ManuallyDrop},
    ops::{Deref, DerefMut},
    sync::Arc,
};

use quadrants_ir::{Const, ParamKind, ScalarType, abi::FIRST_PARAM_WORD};
use quadrants_runtime::StridedRange;

use crate::{
    KernelValue, Slice, SliceMut, Tensor,
    launch::{inline_list::InlineList, plan::LaunchShapes},
    program::ProgramInner,
    tensor::{
        Elements, TensorCore, count,
        host_array::HostElements,
        layout::{ComponentAt, Stored},
    },
};

/// An argument of a launch: a value of kernels, a tensor or a part of one by reference.
pub trait Arg<'a> {
    /// Appends the argument: a value as the scalars that it is made of.
    fn push_to(self, args: &mut ArgList<'a>);
}

/// Arguments without their Rust types.
#[derive(Debug)]
pub struct ArgList<'a> {
    /// The argument block up to the last argument, with room for what all launches have in front.
    pub(crate) words: Words,
    /// What each argument is.
    pub(crate) codes: InlineList<Code, 8>,
    /// The tensors among them, in order; one of aggregates is as many as it has components.
    pub(crate) tensors: InlineList<TensorArg<'a>, 8>,
    /// That of the first tensor in a device's memory.
    pub(crate) program: Option<&'a Arc<ProgramInner>>,
    /// Whether all tensors are in that program's memory, and where they may be used.
    pub(crate) plain: bool,
    /// The launch shapes of a launch of several calls, here for their memory.
    pub(crate) shapes: LaunchShapes,
    /// Of a list that waits for its next use: the one to be used behind it, and how many those are. None and 0 of one in
    /// use.
    next: Option<Box<ArgList<'a>>>,
    behind: u8,
}

/// A list in memory that a thread's launches use one after another: who appends an argument moves an address, and
/// however long a launch is, a repeated one allocates nothing.
pub(crate) struct Args<'a>(ManuallyDrop<Box<ArgList<'a>>>);

/// So many lists wait for their next use on a thread.
const WAITING_AT_MOST: u8 = 16;

thread_local! {
    /// The lists that nobody uses; what stands in them is not looked at.
    static WAITING: Cell<Option<Box<ArgList<'static>>>> = const { Cell::new(None) };
}

impl<'a> Args<'a> {
    /// None yet.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let waiting = WAITING.try_with(|waiting| {
            let mut list = waiting.take()?;
            if list.next.is_some() {
                list.behind = 0;
                waiting.set(list.next.take());
            }
            Some(list)
        });
        let mut list: Box<ArgList<'a>> = match waiting {
            Ok(Some(list)) => list,
            _ => new_list(),
        };
        list.clear();
        Self(ManuallyDrop::new(list))
    }
}

#[cold]
#[inline(never)]
fn new_list<'a>() -> Box<ArgList<'a>> {
    Box::new(ArgList::new())
}

impl Args<'_> {
    /// As a drop, where the launch is made.
    #[inline(always)]
    pub(crate) fn give_back(self) {
        // SAFETY: the value is not used again, nor dropped.
        let mut list = Some(unsafe { ManuallyDrop::new(self).take() });
        let _ = WAITING.try_with(|waiting| match waiting.take() {
            None => waiting.set(list.take()),
            some => waiting.set(some),
        });
        if let Some(list) = list {
            list.wait();
        }
    }

    /// The list.
    ///
    /// # Safety
    /// The value is not used again.
    #[inline(always)]
    unsafe fn take(&mut self) -> Box<ArgList<'static>> {
        // SAFETY: the caller's promise.
        let list = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: another lifetime of the same type. What is borrowed in it is read no more: all lists are emptied when
        // they leave the list of those that wait, and nothing of it needs a drop.
        unsafe { mem::transmute::<Box<ArgList<'_>>, Box<ArgList<'static>>>(list) }
    }
}

impl Drop for Args<'_> {
    fn drop(&mut self) {
        // SAFETY: the value is not used again.
        unsafe { self.take() }.wait();
    }
}

impl ArgList<'static> {
    /// Waits for its next use, before those that wait already.
    #[cold]
    #[inline(never)]
    fn wait(mut self: Box<Self>) {
        // Where the thread ends just now, it goes.
        let _ = WAITING.try_with(|waiting| {
            let next = waiting.take();
            self.behind = next.as_ref().map_or(0, |next| next.behind + 1);
            if self.behind == WAITING_AT_MOST {
                waiting.set(next);
                return;
            }
            self.next = next;
            waiting.set(Some(self));
        });
    }
}

impl<'a> Deref for Args<'a> {
    type Target = ArgList<'a>;

    #[inline(always)]
    fn deref(&self) -> &ArgList<'a> {
        &self.0
    }
}

impl<'a> DerefMut for Args<'a> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut ArgList<'a> {
        &mut self.0
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// An argument block: up to so many words need no allocation.
pub(crate) type Words = InlineList<u64, 32>;

/// What an argument or a parameter is, in one word: a launch compares each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(u64);

/// One argument of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ArgKind<'a> {
    /// A value, of these bits.
    Scalar(Code, u64),
    Tensor(Code, TensorArg<'a>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorArg<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) shape: &'a [usize],
    /// Of a component, where it lies.
    pub(crate) component: Option<&'a ComponentAt>,
}

/// Where a tensor's elements are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    Device(&'a TensorCore),
    /// To be put into device memory first; no launcher sees it.
    Host(&'a dyn HostElements),
}

impl<'a, T: KernelValue> Arg<'a> for T {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        if const { T::LAYOUT.scalar().is_some() } {
            // Taken out first, so that the compiler loses no track of how long the list is.
            let mut value = None;
            self.push_scalars(&mut |scalar| value = Some(scalar));
            if let Some(value) = value {
                args.push_scalar(value);
            }
        } else {
            self.push_scalars(&mut |scalar| args.push_scalar(scalar));
        }
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a Tensor<T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, false, args);
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a mut Tensor<T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, true, args);
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a Slice<'_, T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, false, args);
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a mut SliceMut<'_, T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, true, args);
    }
}

/// Appends a tensor: one of aggregates as the components that its elements have.
#[inline(always)]
fn push_tensor<'a, T: KernelValue, const N: usize>(
    tensor: &'a Tensor<T, N>,
    writable: bool,
    args: &mut ArgList<'a>,
) {
    // No kernel has so many dimensions that they are cut off here.
    let rank = const { if N > u8::MAX as usize { u8::MAX } else { N as u8 } };
    let (elements, shape) = tensor.elements();
    // One way for both behind this, so that the compiler loses no track of how long the list is.
    let (place, stored, address): (Place<'a>, &'a Stored, u64) = match elements {
        Elements::Device(core) => {
            args.note(core);
            (Place::Device(core), &core.stored, core.address().raw())
        }
        Elements::Host(array) => {
            args.note_host();
            (Place::Host(array), array.stored(), 0)
        }
    };
    match const { T::LAYOUT.scalar() } {
        Some(elem) => {
            let code = Code::of(ParamKind::Tensor { elem, rank, writable });
            args.push_words(code, TensorArg { place, shape, component: None }, address);
        }
        None => args.push_components(place, stored, shape, rank, writable),
    }
}

impl<'a> ArgList<'a> {
    /// None yet.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let mut list = Self {
            words: InlineList::new(),
            codes: InlineList::new(),
            tensors: InlineList::new(),
            program: None,
            plain: true,
            shapes: LaunchShapes::new(),
            next: None,
            behind: 0,
        };
        list.clear();
        list
    }

    /// Takes all arguments off.
    #[inline(always)]
    fn clear(&mut self) {
        self.words.clear();
        for word in [0; FIRST_PARAM_WORD] {
            self.words.push(word);
        }
        self.codes.clear();
        self.tensors.clear();
        self.program = None;
        self.plain = true;
    }

    /// Whether all tensors are in this program's memory, and where they may be used.
    #[inline(always)]
    pub(crate) fn all_on_device(&self, program: &Arc<ProgramInner>) -> bool {
        self.plain && self.program.is_none_or(|of_tensors| Arc::ptr_eq(of_tensors, program))
    }

    #[inline(always)]
    fn push_scalar(&mut self, value: Const) {
        self.push_word(Code::of(ParamKind::Scalar(value.ty())), value.bits());
    }

    /// One after another.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ArgKind<'a>> {
        let (mut tensors, mut at) = (self.tensors.iter(), FIRST_PARAM_WORD);
        self.codes.iter().filter_map(move |code| {
            let word = at;
            if code.is_scalar() {
                at += 1;
                return Some(ArgKind::Scalar(*code, *self.words.get(word)?));
            }
            let tensor = *tensors.next()?;
            at += tensor.words();
            Some(ArgKind::Tensor(*code, tensor))
        })
    }

    /// Appends one of another list.
    pub(crate) fn push(&mut self, arg: ArgKind<'a>) {
        match arg {
            ArgKind::Scalar(code, bits) => self.push_word(code, bits),
            ArgKind::Tensor(code, tensor) => self.push_tensor(code, tensor),
        }
    }

    /// Appends a scalar of these bits.
    #[inline(always)]
    fn push_word(&mut self, code: Code, bits: u64) {
        self.codes.push(code);
        self.words.push(bits);
    }

    /// Notes where a tensor is.
    #[inline(always)]
    fn note(&mut self, core: &'a TensorCore) {
        let program = *self.program.get_or_insert(&core.program);
        if !(core.home.is_usable() && Arc::ptr_eq(program, &core.program)) {
            self.plain = false;
        }
    }

    #[cold]
    fn note_host(&mut self) {
        self.plain = false;
    }

    /// Appends a tensor of aggregates, stored so.
    #[inline(never)]
    fn push_components(
        &mut self,
        place: Place<'a>,
        stored: &'a Stored,
        shape: &'a [usize],
        rank: u8,
        writable: bool,
    ) {
        for component in &stored.components {
            let scalars = u32::try_from(component.scalars).unwrap_or(u32::MAX);
            let kind = ParamKind::Component { elem: component.ty, rank, writable, scalars };
            let tensor = TensorArg { place, shape, component: Some(component) };
            self.push_tensor(Code::of(kind), tensor);
        }
    }

    /// Appends a tensor, or a component of one.
    fn push_tensor(&mut self, code: Code, tensor: TensorArg<'a>) {
        let address = match (tensor.core(), tensor.component) {
            (None, _) => 0,
            (Some(core), None) => core.address().raw(),
            (Some(core), Some(component)) => core.address_of(component).raw(),
        };
        match tensor.core() {
            Some(core) => self.note(core),
            None => self.note_host(),
        }
        self.push_words(code, tensor, address);
    }

    /// Appends a tensor at an address, of which the code tells how many words it has.
    #[inline(always)]
    fn push_words(&mut self, code: Code, tensor: TensorArg<'a>, address: u64) {
        self.codes.push(code);
        self.words.push(address);
        for extent in tensor.shape {
            self.words.push(*extent as u64);
        }
        if let Some(component) = tensor.component {
            if component.scalars > 1 {
                self.words.push(component.scalars as u64);
            }
            self.words.push(component.step as u64);
            self.words.push(component.plane as u64);
        }
        self.tensors.push(tensor);
    }
}

impl Code {
    const TENSOR: u64 = 1;
    const COMPONENT: u64 = 2;
    const ELEM: u32 = 8;
    const RANK: u32 = 16;
    const WRITABLE: u64 = 1 << 24;
    const SCALARS: u32 = 32;

    #[inline]
    pub(crate) const fn of(kind: ParamKind) -> Self {
        let (tag, elem, rank, writable, scalars) = match kind {
            ParamKind::Scalar(ty) => (0, ty, 0, false, 0),
            ParamKind::Tensor { elem, rank, writable } => (Self::TENSOR, elem, rank, writable, 0),
            ParamKind::Component { elem, rank, writable, scalars } => {
                (Self::COMPONENT, elem, rank, writable, scalars)
            }
        };
        Self(
            tag | (elem as u64) << Self::ELEM
                | (rank as u64) << Self::RANK
                | if writable { Self::WRITABLE } else { 0 }
                | (scalars as u64) << Self::SCALARS,
        )
    }

    /// What it stands for.
    pub(crate) fn kind(self) -> ParamKind {
        let elem = ScalarType::ALL[(self.0 >> Self::ELEM) as u8 as usize];
        let (rank, writable) = ((self.0 >> Self::RANK) as u8, self.is_writable());
        match self.0 & 0xff {
            0 => ParamKind::Scalar(elem),
            Self::TENSOR => ParamKind::Tensor { elem, rank, writable },
            _ => {
                let scalars = (self.0 >> Self::SCALARS) as u32;
                ParamKind::Component { elem, rank, writable, scalars }
            }
        }
    }

    fn is_scalar(self) -> bool {
        matches!(self.kind(), ParamKind::Scalar(_))
    }

    pub(crate) fn is_writable(self) -> bool {
        self.0 & Self::WRITABLE != 0
    }

    /// Whether the argument can stand for a parameter; a writable tensor can also be read only.
    #[inline]
    pub(crate) fn fits(self, param: Self) -> bool {
        // They differ in nothing, or in that it is writable.
        (self.0 ^ param.0) & !(self.0 & Self::WRITABLE) == 0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl<'a> TensorArg<'a> {
    /// What it is in a device's memory.
    #[inline]
    pub(crate) fn core(&self) -> Option<&'a TensorCore> {
        match self.place {
            Place::Device(core) => Some(core),
            Place::Host(_) => None,
        }
    }

    /// How many words it has in the argument block.
    fn words(&self) -> usize {
        let strides = self.component.map_or(0, |at| 2 + usize::from(at.scalars > 1));
        1 + self.shape.len() + strides
    }

    /// Which bytes of the buffer it is.
    pub(crate) fn bytes(&self) -> StridedRange {
        self.core()
            .map_or(StridedRange::from(0..0), |core| core.pieces(self.component, count(self.shape)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_all_that_a_kind_says() {
        let mut kinds = Vec::new();
        for elem in ScalarType::ALL {
            kinds.push(ParamKind::Scalar(elem));
            for (rank, writable) in [(0, false), (1, true), (6, false), (255, true)] {
                kinds.push(ParamKind::Tensor { elem, rank, writable });
                for scalars in [1, 9, u32::MAX] {
                    kinds.push(ParamKind::Component { elem, rank, writable, scalars });
                }
            }
        }
        for (at, kind) in kinds.iter().enumerate() {
            assert_eq!(Code::of(*kind).kind(), *kind);
            assert!(kinds[..at].iter().all(|other| Code::of(*other) != Code::of(*kind)));
        }
    }

    #[test]
    fn what_may_be_written_may_be_read_and_nothing_else_differs() {
        let tensor = |elem, rank, writable| Code::of(ParamKind::Tensor { elem, rank, writable });
        let param = tensor(ScalarType::F32, 2, false);
        assert!(tensor(ScalarType::F32, 2, true).fits(param) && param.fits(param));
        assert!(!param.fits(tensor(ScalarType::F32, 2, true)));
        for other in [tensor(ScalarType::F64, 2, true), tensor(ScalarType::F32, 1, true)] {
            assert!(!other.fits(param));
        }
        assert!(!Code::of(ParamKind::Scalar(ScalarType::F32)).fits(param));
    }
}
