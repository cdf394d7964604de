//! Kernel arguments, and the list of the arguments of a launch.
//!
//! An argument is written to the argument block where it is given: its type is known there, and so is the number of its
//! words. So a launch need not go over its arguments once more; it only compares one code of each.

pub(crate) mod launch_uses;
pub(crate) mod operation_tensors;
pub(crate) mod target;

use std::{
    cell::Cell,
    fmt,
    mem::{self, ManuallyDrop},
    ops::{Deref, DerefMut},
    sync::Arc,
};

use quadrants_ir::{Const, ParamKind, abi::FIRST_PARAM_WORD};
use quadrants_runtime::StridedRange;

use crate::{
    KernelValue,
    launcher::{
        grid::LaunchConfigs,
        inline_list::{InlineList, Words},
        param_code::ParamCode,
    },
    state::{
        ProgramInner,
        device_tensor::{DeviceTensor, HostElements},
    },
    value::layout::{ComponentLayout, StorageLayout, count},
};

/// An argument of a kernel: a kernel value, or a reference to a tensor or slice.
pub trait Arg<'a> {
    /// Appends the argument. A kernel value is appended as its scalars.
    fn push_to(self, args: &mut ArgList<'a>);
}

/// The arguments of a launch, without their Rust types.
#[derive(Debug)]
pub struct ArgList<'a> {
    /// The argument block up to the last argument, with room for its head.
    pub(crate) words: Words,
    pub(crate) codes: InlineList<ParamCode, 8>,
    /// The tensor arguments in order. A tensor of structs has one entry per component.
    pub(crate) tensors: InlineList<TensorArg<'a>, 8>,
    /// The program of the first tensor in device memory.
    pub(crate) program: Option<&'a Arc<ProgramInner>>,
    /// Whether all tensors are in device memory of that program, and at an address where they can be used.
    all_on_device: bool,
    /// The launch configurations of a launch with several tasks. Here so that repeated launches reuse the memory.
    pub(crate) configs: LaunchConfigs,
    /// The next list in the list of free lists, and the number of those after it. `None` and 0 while this one is in
    /// use.
    next: Option<Box<ArgList<'a>>>,
    free_after: u8,
}

/// An argument list in memory that the launches of a thread reuse: so that appending an argument moves only an address,
/// and a repeated launch of any length allocates nothing.
pub(crate) struct ReusedArgList<'a>(ManuallyDrop<Box<ArgList<'a>>>);

const MAX_FREE: u8 = 16;

thread_local! {
    /// The free lists. Their contents are not read any more.
    static FREE: Cell<Option<Box<ArgList<'static>>>> = const { Cell::new(None) };
}

impl<'a> ReusedArgList<'a> {
    /// An empty list.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let free = FREE.try_with(|free| {
            let mut list = free.take()?;
            if list.next.is_some() {
                list.free_after = 0;
                free.set(list.next.take());
            }
            Some(list)
        });
        let mut list: Box<ArgList<'a>> = match free {
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

impl ReusedArgList<'_> {
    /// Frees the list after the launch. Faster than a drop.
    #[inline(always)]
    pub(crate) fn give_back(self) {
        // SAFETY: the value is not used or dropped afterwards.
        let mut list = Some(unsafe { ManuallyDrop::new(self).take() });
        let _ = FREE.try_with(|free| match free.take() {
            None => free.set(list.take()),
            some => free.set(some),
        });
        if let Some(list) = list {
            list.free();
        }
    }

    /// Moves the list out.
    ///
    /// # Safety
    /// The value is not used again.
    #[inline(always)]
    unsafe fn take(&mut self) -> Box<ArgList<'static>> {
        // SAFETY: the caller's promise.
        let list = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: the same type with another lifetime. What the list borrows is not read any more: a list is cleared
        // when it is taken from the free lists, and nothing in it needs a drop.
        unsafe { mem::transmute::<Box<ArgList<'_>>, Box<ArgList<'static>>>(list) }
    }
}

impl Drop for ReusedArgList<'_> {
    fn drop(&mut self) {
        // SAFETY: the value is not used again.
        unsafe { self.take() }.free();
    }
}

impl ArgList<'static> {
    /// Puts the list in front of the free lists.
    #[cold]
    #[inline(never)]
    fn free(mut self: Box<Self>) {
        // Dropped where the thread's free lists are destroyed already.
        let _ = FREE.try_with(|free| {
            let next = free.take();
            self.free_after = next.as_ref().map_or(0, |next| next.free_after + 1);
            if self.free_after == MAX_FREE {
                free.set(next);
                return;
            }
            self.next = next;
            free.set(Some(self));
        });
    }
}

impl<'a> Deref for ReusedArgList<'a> {
    type Target = ArgList<'a>;

    #[inline(always)]
    fn deref(&self) -> &ArgList<'a> {
        &self.0
    }
}

impl<'a> DerefMut for ReusedArgList<'a> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut ArgList<'a> {
        &mut self.0
    }
}

impl fmt::Debug for ReusedArgList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// One argument of a list, with its code.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ArgKind<'a> {
    Scalar(ParamCode, u64),
    Tensor(ParamCode, TensorArg<'a>),
}

impl<'a> ArgKind<'a> {
    pub(crate) fn tensor(self) -> Option<TensorArg<'a>> {
        match self {
            Self::Scalar(..) => None,
            Self::Tensor(_, tensor) => Some(tensor),
        }
    }

    pub(crate) fn is_distinct(self) -> bool {
        matches!(self, Self::Tensor(code, _) if code.is_distinct())
    }
}

/// A tensor argument, or one component of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorArg<'a> {
    pub(crate) memory: TensorMemory<'a>,
    pub(crate) shape: &'a [usize],
    /// The layout of the component; none for a tensor of scalars.
    pub(crate) component: Option<&'a ComponentLayout>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum TensorMemory<'a> {
    Device(&'a DeviceTensor),
    /// A host array. It is copied to the device before the launch; the launcher never sees it.
    Host(&'a dyn HostElements),
}

impl<'a, T: KernelValue> Arg<'a> for T {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        if const { T::LAYOUT.scalar().is_some() } {
            // Pushed outside of the closure, so that the compiler keeps track of the list's length.
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

impl<'a> ArgList<'a> {
    /// An empty list.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let mut list = Self {
            words: InlineList::new(),
            codes: InlineList::new(),
            tensors: InlineList::new(),
            program: None,
            all_on_device: true,
            configs: LaunchConfigs::new(),
            next: None,
            free_after: 0,
        };
        list.clear();
        list
    }

    /// Removes all arguments.
    #[inline(always)]
    fn clear(&mut self) {
        self.words.clear();
        for word in [0; FIRST_PARAM_WORD] {
            self.words.push(word);
        }
        self.codes.clear();
        self.tensors.clear();
        self.program = None;
        self.all_on_device = true;
    }

    /// Whether all tensors are in device memory of this program, and at an address where they can be used.
    #[inline(always)]
    pub(crate) fn all_on_device(&self, program: &Arc<ProgramInner>) -> bool {
        self.all_on_device && self.program.is_none_or(|of_tensors| Arc::ptr_eq(of_tensors, program))
    }

    #[inline(always)]
    fn push_scalar(&mut self, value: Const) {
        self.push_word(ParamCode::of(ParamKind::Scalar(value.ty())), value.bits());
    }

    /// The arguments in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ArgKind<'a>> {
        let (mut tensors, mut next_word) = (self.tensors.iter(), FIRST_PARAM_WORD);
        self.codes.iter().filter_map(move |code| {
            let word = next_word;
            if code.is_scalar() {
                next_word += 1;
                return Some(ArgKind::Scalar(*code, *self.words.get(word)?));
            }
            let tensor = *tensors.next()?;
            next_word += tensor.words();
            if code.is_strided() {
                next_word += tensor.shape.len();
            }
            Some(ArgKind::Tensor(*code, tensor))
        })
    }

    /// Appends an argument of another list. A tensor that needs them gets its strides, which it does not have
    /// where it was given: so that no kernel accepts it that does not expect them.
    pub(crate) fn push(&mut self, arg: ArgKind<'a>) {
        self.push_as_contiguous(arg);
        let ArgKind::Tensor(code, tensor) = arg else { return };
        let Some(of) = tensor.device_tensor().filter(|of| of.needs_strides()) else { return };
        if let Some(last) = self.codes.last_mut() {
            *last = code.with_strides(true);
            for stride in of.strides(tensor.shape) {
                self.words.push(stride as u64);
            }
        }
    }

    /// Appends an argument of another list, without strides.
    pub(crate) fn push_as_contiguous(&mut self, arg: ArgKind<'a>) {
        match arg {
            ArgKind::Scalar(code, bits) => self.push_word(code, bits),
            ArgKind::Tensor(code, tensor) => self.push_tensor(code.with_strides(false), tensor),
        }
    }

    /// Appends a scalar.
    #[inline(always)]
    fn push_word(&mut self, code: ParamCode, bits: u64) {
        self.codes.push(code);
        self.words.push(bits);
    }

    /// Records whose memory a tensor is in, and whether it can be used.
    #[inline(always)]
    pub(crate) fn add_device_tensor(&mut self, device_tensor: &'a DeviceTensor) {
        let program = *self.program.get_or_insert(&device_tensor.program);
        let usable = device_tensor.usability.is_usable();
        if !(usable && Arc::ptr_eq(program, &device_tensor.program)) {
            self.all_on_device = false;
        }
    }

    #[cold]
    pub(crate) fn add_host_array(&mut self) {
        self.all_on_device = false;
    }

    #[inline(never)]
    pub(crate) fn push_components(
        &mut self,
        memory: TensorMemory<'a>,
        storage: &'a StorageLayout,
        shape: &'a [usize],
        rank: u8,
        writable: bool,
    ) {
        for component in &storage.components {
            let scalars = u32::try_from(component.scalars).unwrap_or(u32::MAX);
            let kind = ParamKind::Component { elem: component.ty, rank, writable, scalars };
            let tensor = TensorArg { memory, shape, component: Some(component) };
            self.push_tensor(ParamCode::of(kind), tensor);
        }
    }

    /// Appends a tensor of scalars, or a component.
    fn push_tensor(&mut self, code: ParamCode, tensor: TensorArg<'a>) {
        let address = match (tensor.device_tensor(), tensor.component) {
            (None, _) => 0,
            (Some(device_tensor), None) => device_tensor.address().raw(),
            (Some(device_tensor), Some(component)) => device_tensor.address_of(component).raw(),
        };
        match tensor.device_tensor() {
            Some(device_tensor) => self.add_device_tensor(device_tensor),
            None => self.add_host_array(),
        }
        self.push_words(code, tensor, address);
    }

    /// Appends a tensor of scalars, or a component, at an address.
    #[inline(always)]
    pub(crate) fn push_words(&mut self, code: ParamCode, tensor: TensorArg<'a>, address: u64) {
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

/// Whether one of the tensors is in a buffer that graphs share. Not inlined, because few devices have such buffers.
#[inline(never)]
pub(super) fn any_shared(tensors: &[TensorArg<'_>]) -> bool {
    let mut device_tensors = tensors.iter().filter_map(TensorArg::device_tensor);
    device_tensors.any(|device_tensor| device_tensor.buffer.is_shared())
}

impl<'a> TensorArg<'a> {
    /// The tensor, where it is in device memory.
    #[inline]
    pub(crate) fn device_tensor(&self) -> Option<&'a DeviceTensor> {
        match self.memory {
            TensorMemory::Device(device_tensor) => Some(device_tensor),
            TensorMemory::Host(_) => None,
        }
    }

    /// The number of words that the tensor has in the argument block, without strides.
    fn words(&self) -> usize {
        let strides = self.component.map_or(0, |at| 2 + usize::from(at.scalars > 1));
        1 + self.shape.len() + strides
    }

    pub(crate) fn bytes(&self) -> StridedRange {
        self.device_tensor().map_or(StridedRange::from(0..0), |device_tensor| {
            device_tensor.byte_ranges(self.component, count(self.shape))
        })
    }
}
