//! Prints the parameters of a task's function: the variables that hold their values, extents and strides, and what the
//! launch has proven about the memory of tensors.

use std::fmt::Write as _;

use quadrants_ir::{ParamId, ParamKind, ScalarType, abi::Passing, element_alignment};

use super::{task::TaskPrinter, types};

/// A part of a parameter that is read into a variable at the start of the function. The variable has the name from the
/// source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParamPart {
    Value(ParamId),
    Dim(ParamId, u8),
    /// The step of a component, or if true its plane.
    Stride(ParamId, bool),
    /// The stride of an axis of a strided parameter.
    ElementStride(ParamId, u8),
}

impl TaskPrinter<'_> {
    /// The value of a scalar parameter, or the address of a tensor.
    pub(super) fn param(&mut self, id: ParamId) -> String {
        self.read_params.insert(ParamPart::Value(id));
        self.cx.params[id.index()].value.clone()
    }

    /// An extent as a `u64`, in an expression with the precedence of a conversion.
    pub(super) fn dim(&mut self, tensor: ParamId, axis: u8) -> String {
        let name = self.extent_variable(tensor, axis);
        if self.has_narrow_counters() { format!("(u64){name}") } else { name }
    }

    /// An extent that fits as an `i32`, in an expression with the precedence of a conversion.
    pub(super) fn narrow_dim(&mut self, tensor: ParamId, axis: u8) -> String {
        let name = self.extent_variable(tensor, axis);
        if self.has_narrow_counters() { name } else { format!("(i32){name}") }
    }

    fn extent_variable(&mut self, tensor: ParamId, axis: u8) -> String {
        self.read_params.insert(ParamPart::Dim(tensor, axis));
        self.cx.params[tensor.index()].dims[usize::from(axis)].clone()
    }

    /// Whether extents and the counters of loops are variables of type `i32`.
    pub(super) fn has_narrow_counters(&self) -> bool {
        self.kernel.tasks[self.task.index()].schedule.narrow_counters
    }

    /// The distance between elements of a component; none for a tensor of scalars.
    pub(super) fn step(&mut self, tensor: ParamId) -> Option<String> {
        self.stride(tensor, false)
    }

    /// The distance between scalars of one element of a component.
    pub(super) fn plane(&mut self, tensor: ParamId) -> Option<String> {
        self.stride(tensor, true)
    }

    /// The distance between elements, in scalars, if the components of the tensor are interleaved.
    pub(super) fn interleaved_step(&self, tensor: ParamId) -> Option<u32> {
        let step = self.kernel.params[tensor.index()].interleaved_step;
        let schedule = &self.kernel.tasks[self.task.index()].schedule;
        (schedule.interleaved && step > 0).then_some(step)
    }

    /// The alignment of a component in each element, in bytes, if it is larger than that of a scalar: then vector loads
    /// and stores are possible.
    pub(super) fn vector_alignment(&self, tensor: ParamId) -> Option<usize> {
        self.interleaved_step(tensor)?;
        let param = &self.kernel.params[tensor.index()];
        let alignment = param.component_alignment()?;
        (alignment > param.kind.elem()?.size()).then_some(alignment)
    }

    /// Whether the elements of a component's tensor are aligned such that the device compiler can combine accesses to
    /// their scalars, also to those of other components.
    pub(super) fn has_aligned_elements(&self, tensor: ParamId) -> bool {
        let param = &self.kernel.params[tensor.index()];
        let (Some(step), Some(elem)) = (self.interleaved_step(tensor), param.kind.elem()) else {
            return false;
        };
        !param.strided && element_alignment(step as usize * elem.size()) > elem.size()
    }

    /// The address of a component, if it follows from that of the first component of its tensor: the first one's name,
    /// and the distance in bytes.
    fn distance_from_first(&self, tensor: ParamId) -> Option<(&str, usize)> {
        self.interleaved_step(tensor)?;
        let param = &self.kernel.params[tensor.index()];
        let distance = param.interleaved_offset as usize * param.kind.elem()?.size();
        let mut before = self.kernel.params[..tensor.index()].iter().enumerate().rev();
        let first = before.find_map(|(at, first)| {
            let of_tensor = first.tensor() == param.tensor() && first.interleaved_offset == 0;
            (distance > 0 && of_tensor).then_some(at)
        })?;
        Some((&self.cx.params[first].value, distance))
    }

    fn stride(&mut self, tensor: ParamId, second: bool) -> Option<String> {
        let [step, plane] = self.cx.params[tensor.index()].strides.clone()?;
        match (self.interleaved_step(tensor), second) {
            (Some(_), true) => return Some("1".to_owned()),
            (Some(1), false) => return None,
            (Some(step), false) => return Some(step.to_string()),
            (None, _) => {}
        }
        self.read_params.insert(ParamPart::Stride(tensor, second));
        Some(if second { plane } else { step })
    }

    /// A word of the launch's temporaries; the last is the result.
    pub(super) fn temporary(&self, word: usize) -> String {
        self.argument(&format!("qd_scratch[{word}]"))
    }

    /// For a strided tensor, the distance of an element from the first: the sum of these indices, each times its
    /// stride. None for other tensors.
    pub(super) fn strided_offset(&mut self, tensor: ParamId, index: &[String]) -> Option<String> {
        if !self.kernel.params[tensor.index()].strided {
            return None;
        }
        let names = self.cx.params[tensor.index()].element_strides.clone();
        let mut terms = Vec::new();
        for (axis, (at, stride)) in index.iter().zip(names).enumerate() {
            self.read_params.insert(ParamPart::ElementStride(tensor, axis as u8));
            terms.push(format!("{at} * {stride}"));
        }
        Some(if terms.is_empty() { "0ull".to_owned() } else { terms.join(" + ") })
    }

    pub(super) fn argument(&self, field: &str) -> String {
        match self.cx.passing {
            Passing::Value => format!("args.{field}"),
            Passing::Buffer => format!("args->{field}"),
        }
    }

    pub(super) fn read_param(&self, text: &mut String, part: ParamPart) {
        let (ty, name) = match part {
            ParamPart::Dim(tensor, axis) => {
                let ty = if self.has_narrow_counters() { "const i32" } else { "const u64" };
                (ty.to_owned(), &self.cx.params[tensor.index()].dims[usize::from(axis)])
            }
            ParamPart::Stride(tensor, second) => {
                let Some([step, plane]) = &self.cx.params[tensor.index()].strides else { return };
                ("const u64".to_owned(), if second { plane } else { step })
            }
            ParamPart::ElementStride(tensor, axis) => {
                let names = &self.cx.params[tensor.index()].element_strides;
                let Some(stride) = names.get(usize::from(axis)) else { return };
                ("const u64".to_owned(), stride)
            }
            ParamPart::Value(id) => {
                let name = &self.cx.params[id.index()].value;
                let ty = match self.kernel.params[id.index()].kind {
                    ParamKind::Scalar(ty) => format!("const {}", ty.name()),
                    ParamKind::Tensor { elem, writable, .. } => {
                        format!("{} const", pointer(elem, writable))
                    }
                    ParamKind::Component { elem, writable, .. } => {
                        let ty = pointer(elem, writable);
                        if let Some(address) = self.component_address(id, name) {
                            let _ = writeln!(text, "    {ty} const {name} = ({ty}){address};");
                            return;
                        }
                        format!("{ty} const")
                    }
                };
                (ty, name)
            }
        };
        let narrow =
            if ty == "const i32" && matches!(part, ParamPart::Dim(..)) { "(i32)" } else { "" };
        let _ = writeln!(text, "    {ty} {name} = {narrow}{};", self.argument(name));
    }

    /// The address of the first scalar of a component with what the launch has proven about it, so that the device
    /// compiler can combine accesses to adjacent scalars: the alignment, and the distance from the first component of
    /// the tensor. None if nothing is known.
    fn component_address(&self, id: ParamId, name: &str) -> Option<String> {
        let alignment = self.vector_alignment(id);
        let distance = self.distance_from_first(id);
        if alignment.is_none() && distance.is_none() {
            return None;
        }
        let address = match distance {
            Some((first, distance)) => {
                format!("((unsigned char*){} + {distance})", self.argument(first))
            }
            None => self.argument(name),
        };
        Some(match alignment {
            Some(alignment) => format!("__builtin_assume_aligned({address}, {alignment})"),
            None => address,
        })
    }
}

/// The type of a tensor's address.
pub(super) fn pointer(elem: ScalarType, writable: bool) -> String {
    format!("{}{}*", if writable { "" } else { "const " }, types::element(elem))
}
