//! The types of kernel values. The IR itself has scalars only. A value of any other type becomes its scalars in
//! declaration order, called its leaves.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use crate::{Const, ScalarType};

/// The maximum number of leaves of a kernel value. Each leaf becomes a local, and so a register.
pub const MAX_LEAVES: usize = 1024;

/// The type of a value in a kernel.
///
/// # Examples
/// ```
/// use quadrants_ir::types::Type;
/// use quadrants_ir::ScalarType;
/// let pair = Type::Tuple(&[Type::Vector(ScalarType::F32, 3), Type::Scalar(ScalarType::I32)]);
/// assert_eq!(pair.leaves(), 4);
/// assert_eq!(pair.to_string(), "(Vector<f32, 3>, i32)");
/// assert_eq!(pair.field("1"), Some((Type::Scalar(ScalarType::I32), 3)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A number or a bool.
    Scalar(ScalarType),
    /// `(A, B)`
    Tuple(&'static [Type]),
    /// `[T; N]`
    Array(&'static Type, usize),
    /// `Vector<T, N>`
    Vector(ScalarType, usize),
    /// `Matrix<T, R, C>`, in row-major order.
    Matrix(ScalarType, usize, usize),
    /// A user-defined struct, or an enum without fields.
    Struct(&'static Struct),
}

/// A user-defined struct. An enum without fields is one whose only field is the discriminant.
#[derive(PartialEq, Eq, Debug)]
pub struct Struct {
    /// The name.
    pub name: &'static str,
    /// The fields, in order. Fields of a tuple struct are named by their index.
    pub fields: &'static [Field],
    /// What it is in Rust.
    pub kind: StructKind,
}

/// What a [`Struct`] is in Rust.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StructKind {
    /// A struct without operators other than `==`.
    Struct,
    /// An enum without fields, with its variants in order.
    Enum(&'static [Variant]),
    /// A complex number: two floats, with the operators of complex numbers.
    Complex,
}

/// A variant of an enum without fields.
#[derive(PartialEq, Eq, Debug)]
pub struct Variant {
    /// The name.
    pub name: &'static str,
    /// The discriminant.
    pub number: i64,
}

/// A field of a struct.
#[derive(PartialEq, Eq, Debug)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub ty: Type,
}

/// A constant of any type, as its scalars.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    /// The type.
    pub ty: Type,
    /// The scalars, in order.
    pub scalars: Vec<Const>,
}

/// The type of a parameter of a kernel or func.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamType {
    /// A value.
    Value(Type),
    /// A tensor.
    Tensor {
        /// The element type.
        elem: Type,
        /// The number of dimensions.
        rank: u8,
        /// Whether it is passed by `&mut`.
        writable: bool,
        /// Whether all elements differ.
        distinct: bool,
    },
    /// A struct of tensors.
    Struct {
        /// The fields.
        fields: &'static [TensorField],
        /// Whether it is passed by `&mut`.
        writable: bool,
    },
}

/// A tensor in a struct of tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorField {
    /// The field's name.
    pub name: &'static str,
    /// The element type.
    pub elem: Type,
    /// The number of dimensions.
    pub rank: u8,
    /// Whether the field is a `&mut` reference.
    pub writable: bool,
}

/// The FNV-1a hash of a name. Emitted code identifies methods and fields of types by it.
#[must_use]
pub const fn name_number(name: &str) -> u64 {
    let (name, mut hash, mut at) = (name.as_bytes(), 0xcbf2_9ce4_8422_2325_u64, 0);
    while at < name.len() {
        hash = (hash ^ name[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

impl ParamType {
    /// The same type, passed by `&mut` if `by_mut`, else by `&`.
    #[must_use]
    pub const fn passed(self, by_mut: bool) -> Self {
        match self {
            Self::Value(_) => self,
            Self::Tensor { elem, rank, distinct, .. } => {
                Self::Tensor { elem, rank, writable: by_mut, distinct }
            }
            Self::Struct { fields, .. } => Self::Struct { fields, writable: by_mut },
        }
    }

    /// The tensors of a parameter called `name`, with their names.
    #[must_use]
    pub fn tensors(self, name: &str) -> Vec<(String, Self)> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Tensor { .. } => vec![(name.to_owned(), self)],
            Self::Struct { fields, writable } => {
                let tensor = |field: &TensorField| {
                    let TensorField { elem, rank, .. } = *field;
                    let writable = writable && field.writable;
                    let tensor = Self::Tensor { elem, rank, writable, distinct: false };
                    (format!("{name}.{}", field.name), tensor)
                };
                fields.iter().map(tensor).collect()
            }
        }
    }
}

/// The memory of the elements of an array of structs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interleaved {
    /// The offset of each component in an element, in bytes.
    pub offsets: Vec<usize>,
    /// The distance between elements, in bytes.
    pub size: usize,
}

/// A component of a type: the scalars at one field path of a value, over all indices along the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// The field names, each with a leading dot: `.place`, `.kind.0`. Empty for a value without fields.
    pub path: String,
    /// The type of the scalars.
    pub ty: ScalarType,
    /// The number of scalars.
    pub scalars: usize,
}

impl From<Const> for Constant {
    fn from(value: Const) -> Self {
        Self { ty: Type::Scalar(value.ty()), scalars: vec![value] }
    }
}

impl Constant {
    /// The constant, if it is a scalar.
    #[must_use]
    pub fn scalar(&self) -> Option<Const> {
        match (self.ty, &self.scalars[..]) {
            (Type::Scalar(_), [value]) => Some(*value),
            _ => None,
        }
    }
}

/// The type of `std::cmp::Ordering`: an enum whose discriminants are -1, 0 and 1.
pub const ORDERING: Type = Type::Struct(&Struct {
    name: "Ordering",
    fields: &[Field { name: "discriminant", ty: Type::Scalar(ScalarType::I32) }],
    kind: StructKind::Enum(&[
        Variant { name: "Less", number: -1 },
        Variant { name: "Equal", number: 0 },
        Variant { name: "Greater", number: 1 },
    ]),
});

impl Type {
    /// The type, if it is a scalar.
    #[must_use]
    pub const fn scalar(self) -> Option<ScalarType> {
        match self {
            Self::Scalar(ty) => Some(ty),
            _ => None,
        }
    }

    /// The type of the discriminant, if it is an enum.
    #[must_use]
    pub const fn discriminant(self) -> Option<ScalarType> {
        match self {
            Self::Struct(Struct { fields: [discriminant], kind: StructKind::Enum(_), .. }) => {
                discriminant.ty.scalar()
            }
            _ => None,
        }
    }

    /// The type of the parts, if it is a complex number.
    #[must_use]
    pub const fn complex(self) -> Option<ScalarType> {
        match self {
            Self::Struct(Struct { fields: [real, _], kind: StructKind::Complex, .. }) => {
                real.ty.scalar()
            }
            _ => None,
        }
    }

    /// Whether values contain an enum.
    #[must_use]
    pub const fn has_enum(self) -> bool {
        match self {
            Self::Scalar(_) | Self::Vector(..) | Self::Matrix(..) => false,
            Self::Array(element, _) => element.has_enum(),
            Self::Tuple(parts) => {
                let mut at = 0;
                while at < parts.len() && !parts[at].has_enum() {
                    at += 1;
                }
                at < parts.len()
            }
            Self::Struct(of) => {
                let mut at = 0;
                while at < of.fields.len() && !of.fields[at].ty.has_enum() {
                    at += 1;
                }
                matches!(of.kind, StructKind::Enum(_)) || at < of.fields.len()
            }
        }
    }

    /// Whether values have no scalars: an empty array, or only such fields.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Array(element, len) => len == 0 || element.is_empty(),
            Self::Vector(_, len) => len == 0,
            Self::Matrix(_, rows, columns) => rows == 0 || columns == 0,
            Self::Tuple(parts) => {
                let mut at = 0;
                while at < parts.len() && parts[at].is_empty() {
                    at += 1;
                }
                at == parts.len()
            }
            Self::Struct(of) => {
                let mut at = 0;
                while at < of.fields.len() && of.fields[at].ty.is_empty() {
                    at += 1;
                }
                at == of.fields.len()
            }
        }
    }

    /// The number of scalars of a value.
    #[must_use]
    pub fn leaves(self) -> usize {
        match self {
            Self::Scalar(_) => 1,
            Self::Tuple(parts) => parts.iter().map(|part| part.leaves()).sum(),
            Self::Array(element, len) => element.leaves().saturating_mul(len),
            Self::Vector(_, len) => len,
            Self::Matrix(_, rows, columns) => rows.saturating_mul(columns),
            Self::Struct(of) => of.fields.iter().map(|field| field.ty.leaves()).sum(),
        }
    }

    /// The types of the scalars of a value.
    #[must_use]
    pub fn leaf_types(self) -> Vec<ScalarType> {
        let mut types = Vec::new();
        self.each_leaf("", &mut |_, ty| types.push(ty));
        types
    }

    /// Calls `each` with a name and the type of each scalar of a value called `name`. The names are identifiers.
    pub fn each_leaf(self, name: &str, each: &mut dyn FnMut(&str, ScalarType)) {
        self.each_path(name, '_', each);
    }

    /// Calls `each` with the path and the type of each scalar of a value called `name`, as `name.place.0`. No path of
    /// another value begins with `name.`, because identifiers contain no dot.
    pub fn each_leaf_path(self, name: &str, each: &mut dyn FnMut(&str, ScalarType)) {
        self.each_path(name, '.', each);
    }

    fn each_path(self, name: &str, separator: char, each: &mut dyn FnMut(&str, ScalarType)) {
        let mut numbered = |count: usize, part: &dyn Fn(usize) -> Self| {
            for at in 0..count {
                part(at).each_path(&format!("{name}{separator}{at}"), separator, each);
            }
        };
        match self {
            Self::Scalar(ty) => each(name, ty),
            Self::Tuple(parts) => numbered(parts.len(), &|at| parts[at]),
            Self::Array(element, len) => numbered(len, &|_| *element),
            Self::Vector(ty, len) => numbered(len, &|_| Self::Scalar(ty)),
            Self::Matrix(ty, rows, columns) => numbered(rows, &|_| Self::Vector(ty, columns)),
            Self::Struct(of) => {
                for field in of.fields {
                    let name = format!("{name}{separator}{}", field.name);
                    field.ty.each_path(&name, separator, each);
                }
            }
        }
    }

    /// The components, in field order. A tensor of such values has one parameter per component. The scalars of a
    /// component in one element are adjacent.
    ///
    /// # Examples
    /// ```
    /// use quadrants_ir::{ScalarType, types::Type};
    /// const PLACE: Type = Type::Vector(ScalarType::F32, 3);
    /// const PAIR: Type = Type::Tuple(&[PLACE, Type::Scalar(ScalarType::I32)]);
    /// let pairs = Type::Array(&PAIR, 4);
    /// let [places, numbers] = &pairs.components()[..] else { panic!() };
    /// assert_eq!((places.path.as_str(), places.scalars), (".0", 12));
    /// assert_eq!((numbers.path.as_str(), numbers.scalars), (".1", 4));
    /// ```
    #[must_use]
    pub fn components(self) -> Vec<Component> {
        let mut components = Vec::new();
        self.each_component(String::new(), 1, &mut components);
        components
    }

    fn each_component(self, path: String, scalars: usize, components: &mut Vec<Component>) {
        let mut field = |name: &str, ty: Self| {
            ty.each_component(format!("{path}.{name}"), scalars, components);
        };
        let (ty, more) = match self {
            Self::Tuple(parts) => {
                return parts.iter().enumerate().for_each(|(at, ty)| field(&at.to_string(), *ty));
            }
            Self::Struct(of) => return of.fields.iter().for_each(|at| field(at.name, at.ty)),
            Self::Array(element, len) => {
                return element.each_component(path, scalars.saturating_mul(len), components);
            }
            Self::Scalar(ty) => (ty, 1),
            Self::Vector(ty, len) => (ty, len),
            Self::Matrix(ty, rows, columns) => (ty, rows.saturating_mul(columns)),
        };
        let scalars = scalars.saturating_mul(more);
        // A component without scalars needs no memory.
        if scalars > 0 {
            components.push(Component { path, ty, scalars });
        }
    }

    /// The memory of an array of structs of this type. Each component is aligned to the size of its scalars, and the
    /// size of an element is a multiple of its largest scalar's size. `None` if the size overflows.
    #[must_use]
    pub fn interleaved(self) -> Option<Interleaved> {
        let (mut size, mut largest) = (0_usize, 1);
        let mut offsets = Vec::new();
        for component in self.components() {
            let scalar = component.ty.size();
            let offset = size.checked_next_multiple_of(scalar)?;
            size = offset.checked_add(component.scalars.checked_mul(scalar)?)?;
            largest = largest.max(scalar);
            offsets.push(offset);
        }
        Some(Interleaved { offsets, size: size.checked_next_multiple_of(largest)? })
    }

    /// The number of components before a field.
    #[must_use]
    pub fn components_before(self, field: &str) -> usize {
        let count = |ty: Self| ty.components().len();
        match self {
            Self::Tuple(parts) => {
                let at = field.parse().unwrap_or(0);
                parts.iter().take(at).map(|ty| count(*ty)).sum()
            }
            Self::Struct(of) => {
                let before = of.fields.iter().take_while(|at| at.name != field);
                before.map(|at| count(at.ty)).sum()
            }
            _ => 0,
        }
    }

    /// `[Self; len]`. The element types of such arrays are kept for the rest of the process, each once.
    fn array(self, len: usize) -> Self {
        static ELEMENTS: Mutex<Vec<&'static Type>> = Mutex::new(Vec::new());
        let mut elements = ELEMENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let element = elements.iter().copied().find(|of| **of == self).unwrap_or_else(|| {
            let element: &'static Self = Box::leak(Box::new(self));
            elements.push(element);
            element
        });
        Self::Array(element, len)
    }

    /// The type of a field of a struct, tuple, vector or matrix, and the index of its first leaf in the value. `-1` is
    /// the last part of a struct, tuple or array, `-2` the one before.
    #[must_use]
    pub fn field(self, name: &str) -> Option<(Self, usize)> {
        if let Some(by) = name.strip_prefix('-') {
            return self.part_from_end(by.parse().ok()?);
        }
        let mut before = 0;
        let mut found = |at: &str, ty: Self| {
            let found = (at == name).then_some((ty, before));
            before += ty.leaves();
            found
        };
        match self {
            Self::Tuple(parts) => {
                parts.iter().enumerate().find_map(|(at, part)| found(&at.to_string(), *part))
            }
            Self::Struct(of) => of.fields.iter().find_map(|field| found(field.name, field.ty)),
            Self::Vector(ty, len) => found("0", Self::Scalar(ty).array(len)),
            Self::Matrix(ty, rows, columns) => {
                found("0", Self::Scalar(ty).array(columns).array(rows))
            }
            _ => None,
        }
    }

    fn part_from_end(self, by: usize) -> Option<(Self, usize)> {
        let parts: Vec<Self> = match self {
            Self::Tuple(parts) => parts.to_vec(),
            Self::Struct(of) => of.fields.iter().map(|field| field.ty).collect(),
            Self::Array(element, len) => {
                let at = len.checked_sub(by).filter(|at| *at < len)?;
                return Some((*element, at * element.leaves()));
            }
            Self::Scalar(_) | Self::Vector(..) | Self::Matrix(..) => return None,
        };
        let at = parts.len().checked_sub(by)?;
        let before = parts[..at].iter().map(|part| part.leaves()).sum();
        Some((*parts.get(at)?, before))
    }

    /// The type of the element that this number of indices selects, and the extent of each index.
    #[must_use]
    pub fn element(self, indices: usize) -> Option<(Self, Vec<usize>)> {
        match (self, indices) {
            (Self::Array(element, len), 1) => Some((*element, vec![len])),
            (Self::Vector(ty, len), 1) => Some((Self::Scalar(ty), vec![len])),
            (Self::Matrix(ty, rows, columns), 2) => Some((Self::Scalar(ty), vec![rows, columns])),
            _ => None,
        }
    }
}

/// The type in Rust syntax.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(ty) => write!(f, "{ty}"),
            Self::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                match &parts[..] {
                    [one] => write!(f, "({one},)"),
                    _ => write!(f, "({})", parts.join(", ")),
                }
            }
            Self::Array(element, len) => write!(f, "[{element}; {len}]"),
            Self::Vector(ty, len) => write!(f, "Vector<{ty}, {len}>"),
            Self::Matrix(ty, rows, columns) => write!(f, "Matrix<{ty}, {rows}, {columns}>"),
            Self::Struct(of) => f.write_str(of.name),
        }
    }
}
