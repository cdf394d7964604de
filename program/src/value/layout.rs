//! The layout of a tensor's elements in memory, on the host and on devices.
//!
//! All values of one scalar field form a component (`Type::components`). In an array of structs, the components of an
//! element follow each other in the order of the fields. Each is aligned to the size of its scalars, and the element's
//! size is a multiple of its largest scalar's size: for structs of scalars, vectors and arrays this is `repr(C)`. In a
//! struct of arrays, each scalar has its own plane.

use quadrants_ir::{Const, ScalarType, types::Type};
use quadrants_runtime::{CopiedRange, StridedRange};
use smallvec::SmallVec;

use super::{
    KernelValue,
    memory::{Component, Memory},
    strided::{Runs, Strided, one_run, pairs},
};

/// The memory layout of a tensor whose elements have several scalars. Kernels do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Layout {
    /// Element after element. Fast where a kernel uses whole elements.
    #[default]
    ArrayOfStructs,
    /// Field after field; each scalar of a field has its own plane. Fast where neighbouring iterations use the same
    /// field of neighbouring elements, above all on GPUs.
    StructOfArrays,
}

/// The memory layout of a number of elements of one type.
#[derive(Clone, Debug)]
pub(crate) struct StorageLayout {
    pub(crate) components: SmallVec<[ComponentLayout; 1]>,
    /// The size in bytes.
    pub(crate) bytes: usize,
    /// The distance between elements in bytes; `None` in a struct of arrays.
    element: Option<usize>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentLayout {
    pub(crate) ty: ScalarType,
    pub(crate) scalars: usize,
    /// The offset of the first scalar, in bytes.
    pub(crate) offset: usize,
    /// The distance between the elements, in scalars.
    pub(crate) step: usize,
    /// The distance between the scalars of an element, in scalars.
    pub(crate) plane: usize,
}

/// A contiguous range of bytes of a copy between device and host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CopyRange {
    pub(crate) device: usize,
    pub(crate) host: usize,
    pub(crate) bytes: usize,
}

impl CopyRange {
    /// Of a copy between tensors, where the other side is device memory too.
    pub(crate) fn within_device(&self) -> CopiedRange {
        CopiedRange { dst: self.device, src: self.host, bytes: self.bytes }
    }

    /// The range in parts of at most `largest` bytes.
    pub(crate) fn parts(self, largest: usize) -> impl Iterator<Item = Self> {
        (0..self.bytes).step_by(largest).map(move |at| Self {
            device: self.device + at,
            host: self.host + at,
            bytes: largest.min(self.bytes - at),
        })
    }
}

/// The alignment of planes, so that threads that read neighbouring scalars read whole cache lines.
const PLANE_ALIGNMENT: usize = 128;

impl StorageLayout {
    /// `None` if the size overflows.
    pub(crate) fn new(ty: Type, layout: Layout, count: usize) -> Option<Self> {
        let mut bytes = 0usize;
        let mut components: SmallVec<[ComponentLayout; 1]> = SmallVec::new();
        let together = ty.scalar().is_some() || layout == Layout::ArrayOfStructs;
        let interleaved = ty.interleaved()?;
        for (component, within) in ty.components().into_iter().zip(interleaved.offsets) {
            let size = component.ty.size();
            let offset =
                if together { within } else { bytes.checked_next_multiple_of(PLANE_ALIGNMENT)? };
            let copies = if together { 1 } else { count };
            let len = component.scalars.checked_mul(copies)?.checked_mul(size)?;
            bytes = offset.checked_add(len)?;
            components.push(ComponentLayout {
                ty: component.ty,
                scalars: component.scalars,
                offset,
                step: 1,
                plane: if together { 1 } else { count },
            });
        }
        let mut element = None;
        if together {
            let size = interleaved.size;
            for component in &mut components {
                component.step = size / component.ty.size();
            }
            bytes = size.checked_mul(count)?;
            element = Some(size);
        }
        isize::try_from(bytes).ok()?;
        Some(Self { components, bytes, element, count })
    }

    /// The size of an element in bytes, if elements of several components follow each other.
    pub(crate) fn interleaved_size(&self) -> Option<usize> {
        self.element
    }

    /// The layout of a copy of `count` of these elements.
    pub(crate) fn resized(&self, count: usize) -> Self {
        let mut other = self.clone();
        other.count = count;
        if let Some(size) = self.element {
            other.bytes = size * count;
            return other;
        }
        other.bytes = 0;
        for component in &mut other.components {
            component.plane = count;
            component.offset = other.bytes.next_multiple_of(PLANE_ALIGNMENT);
            other.bytes = component.offset + component.scalars * count * component.ty.size();
        }
        other
    }

    /// The ranges to copy between these elements, those of `runs`, and host memory with the layout `part`.
    pub(crate) fn spans(&self, runs: &Runs, part: &Self) -> SmallVec<[CopyRange; 1]> {
        if self.element.is_none() && runs.len() == 1 && part.count == self.count {
            return SmallVec::from_buf([CopyRange { device: 0, host: 0, bytes: self.bytes }]);
        }
        self.copies(runs, part, &one_run(0, part.count)).unwrap_or_default()
    }

    /// The ranges to copy the elements `from_runs` of `from` to the elements `runs` of these, as many; none where the
    /// two have different layouts. The elements are of one type.
    pub(crate) fn copies(
        &self,
        runs: &Runs,
        from: &Self,
        from_runs: &Runs,
    ) -> Option<SmallVec<[CopyRange; 1]>> {
        let pairs = pairs(runs, from_runs);
        let mut spans = SmallVec::new();
        match (self.element, from.element) {
            _ if pairs.is_empty() => {}
            (Some(size), Some(_)) => {
                spans.extend(pairs.iter().map(|&(to, from, elements)| CopyRange {
                    device: to * size,
                    host: from * size,
                    bytes: elements * size,
                }));
            }
            (None, None) => {
                for (to, from) in self.components.iter().zip(&from.components) {
                    let size = to.ty.size();
                    for scalar in 0..to.scalars {
                        spans.extend(pairs.iter().map(|&(at, from_at, elements)| CopyRange {
                            device: to.at(at) + scalar * to.plane * size,
                            host: from.at(from_at) + scalar * from.plane * size,
                            bytes: elements * size,
                        }));
                    }
                }
            }
            _ => return None,
        }
        Some(spans)
    }

    pub(crate) fn layout(&self) -> Layout {
        if self.element.is_some() { Layout::ArrayOfStructs } else { Layout::StructOfArrays }
    }

    /// The number of elements.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn read<T: KernelValue>(&self, memory: &[u64]) -> Vec<T> {
        self.elements(memory).collect()
    }

    pub(crate) fn elements<T: KernelValue>(&self, memory: &[u64]) -> impl Iterator<Item = T> {
        assert!(size_of_val(memory) >= self.bytes, "the memory is large enough for the elements");
        // Nothing is written through the pointer.
        let root = self.root::<T>(memory.as_ptr().cast_mut().cast());
        (0..self.count).map(move |at| T::read(T::element_location(root, Some(at))))
    }

    /// The scalars of the elements, for their text: a list for each element, with its scalars in the order of the
    /// components.
    pub(crate) fn scalars(&self, memory: &[u8]) -> Vec<Vec<Const>> {
        let scalar = |component: &ComponentLayout, element: usize, scalar: usize| {
            let size = component.ty.size();
            let at = component.at(element) + scalar * component.plane * size;
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(&memory[at..at + size]);
            Const::from_bits(component.ty, u64::from_le_bytes(bits))
        };
        let element = |element| {
            let all = self.components.iter().flat_map(|of| (0..of.scalars).map(move |at| (of, at)));
            all.map(|(of, at)| scalar(of, element, at)).collect()
        };
        (0..self.count).map(element).collect()
    }

    pub(crate) fn write<T: KernelValue>(
        &self,
        memory: &mut [u64],
        elements: impl Iterator<Item = T>,
    ) {
        assert!(size_of_val(memory) >= self.bytes, "the memory is large enough for the elements");
        let root = self.root::<T>(memory.as_mut_ptr().cast());
        for (at, element) in (0..self.count).zip(elements) {
            element.write(T::element_location(root, Some(at)));
        }
    }

    fn root<T: KernelValue>(&self, memory: *mut u8) -> T::Storage {
        let mut components = self.components.iter();
        let mut next = |scalars| {
            let of = components.next().filter(|component| component.scalars == scalars);
            let of = of.expect("the type has the components of its layout");
            // A component without scalars may begin after the last byte.
            let first = memory.wrapping_add(of.offset);
            Component { first, step: of.step, plane: of.plane }
        };
        // SAFETY: the components lie in the memory, whose length the callers checked. It is aligned for all scalars.
        T::storage(&mut unsafe { Memory::new(&mut next) })
    }
}

impl ComponentLayout {
    /// The offset of an element's first scalar, in bytes.
    pub(crate) fn at(&self, element: usize) -> usize {
        self.offset + element * self.step * self.ty.size()
    }

    /// The bytes of the component in `elements` elements from element `first` on.
    pub(crate) fn byte_ranges(&self, first: usize, elements: usize) -> StridedRange {
        let size = self.ty.size();
        let (begin, scalars) = (self.at(first), self.scalars);
        match self.step {
            // Each plane has the scalars of neighbouring elements next to each other.
            1 => StridedRange::new(begin, elements * size, self.plane * size, scalars),
            step => StridedRange::new(begin, scalars * size, step * size, elements),
        }
    }

    /// The bytes of the component in the elements of a view that starts at element `first`. Where they have several
    /// distances, all between the largest one are included.
    pub(crate) fn byte_ranges_of(&self, first: usize, view: &Strided) -> StridedRange {
        let size = self.ty.size();
        let elements = view.strides.iter().map(|stride| stride * self.step * size);
        let mut levels: SmallVec<[(usize, usize); 8]> =
            elements.zip(view.extents.clone()).collect();
        levels.push((self.plane * size, self.scalars));
        levels.retain(|(_, count)| *count > 1);
        levels.sort_unstable();
        let mut width = size;
        let Some((step, count)) = levels.pop() else {
            return StridedRange::new(self.at(first), width, 0, 1);
        };
        for (step, count) in levels {
            width += step * (count - 1);
        }
        StridedRange::new(self.at(first), width, step, count)
    }
}

/// The number of elements of a shape. The product wraps only if the shape has an extent of 0, and then it is 0: the
/// other extents of such a shape may be too large to multiply.
pub(crate) fn count(shape: &[usize]) -> usize {
    shape.iter().fold(1, |count: usize, extent| count.wrapping_mul(*extent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    type Mixed = (u8, Vector<f32, 3>, (bool, f64), [(i16, u8); 2]);

    fn element(at: u8) -> Mixed {
        let x = f32::from(at);
        let pair = |k: u8| (i16::from(at) - i16::from(k), at + k);
        (at, Vector([x, x + 0.25, x + 0.5]), (at % 2 == 1, f64::from(x) * 3.0), [pair(1), pair(2)])
    }

    #[test]
    fn an_element_is_aligned_to_its_largest_scalar() {
        let storage = StorageLayout::new(Mixed::LAYOUT, Layout::ArrayOfStructs, 10).unwrap();
        let offsets: Vec<_> = storage.components.iter().map(|of| of.at(0)).collect();
        // u8, f32 × 3, bool, f64, i16 × 2, u8 × 2
        assert_eq!(offsets, [0, 4, 16, 24, 32, 36]);
        assert_eq!((storage.element, storage.bytes), (Some(40), 400));
        assert_eq!(storage.components[1].step, 10);
    }

    #[test]
    fn both_layouts_round_trip() {
        let elements: Vec<Mixed> = (0..9).map(element).collect();
        for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
            let storage = StorageLayout::new(Mixed::LAYOUT, layout, 9).unwrap();
            let mut memory = vec![0u64; storage.bytes.div_ceil(8)];
            storage.write(&mut memory, elements.iter().copied());
            assert_eq!(storage.read::<Mixed>(&memory), elements);
            // A part of them, copied by `spans`.
            let part = storage.resized(4);
            let bytes: Vec<u8> = memory.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut own = vec![0u8; part.bytes.next_multiple_of(8)];
            for CopyRange { device, host, bytes: len } in storage.spans(&one_run(3, 4), &part) {
                own[host..host + len].copy_from_slice(&bytes[device..device + len]);
            }
            let own: Vec<u64> =
                own.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
            assert_eq!(part.read::<Mixed>(&own), elements[3..7]);
        }
    }

    #[test]
    fn a_layout_that_is_too_large_is_rejected() {
        assert!(StorageLayout::new(f64::LAYOUT, Layout::default(), usize::MAX / 8).is_none());
        let vectors = <[f32; 4]>::LAYOUT;
        assert!(StorageLayout::new(vectors, Layout::StructOfArrays, usize::MAX / 8).is_none());
        assert_eq!(StorageLayout::new(vectors, Layout::StructOfArrays, 0).unwrap().bytes, 0);
    }
}
