//! The types in generated kernels, and the built-in methods.

/// A number type of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Num {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Usize,
    F32,
    F64,
}

impl Num {
    pub(crate) const INTS: [Self; 9] = [
        Self::I32,
        Self::U32,
        Self::Usize,
        Self::I64,
        Self::U64,
        Self::U8,
        Self::I8,
        Self::I16,
        Self::U16,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Usize => "usize",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    pub(crate) fn is_narrow(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::U8 | Self::U16)
    }

    /// The type of `abs_diff`.
    pub(crate) fn unsigned(self) -> Self {
        match self {
            Self::I8 => Self::U8,
            Self::I16 => Self::U16,
            Self::I32 => Self::U32,
            Self::I64 => Self::U64,
            other => other,
        }
    }

    /// The largest literal that is used.
    pub(crate) fn most(self) -> usize {
        match self {
            Self::I8 => 127,
            Self::U8 => 255,
            Self::I16 => 32_767,
            Self::U16 => 65_535,
            _ => 1 << 30,
        }
    }
}

/// The type of a kernel value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    Bool,
    Num(Num),
    Array(Box<Ty>, usize),
    Tuple(Vec<Ty>),
    /// A struct of the module, by its number.
    Struct(usize),
    Vector(Num, usize),
    Matrix(Num, usize, usize),
    /// The type parameter of the function.
    Param,
}

impl Ty {
    pub(crate) fn num(&self) -> Option<Num> {
        match self {
            Self::Num(num) => Some(*num),
            _ => None,
        }
    }

    /// Whether the type depends on the type parameter of the function.
    pub(crate) fn has_param(&self) -> bool {
        match self {
            Self::Param => true,
            Self::Array(of, _) => of.has_param(),
            Self::Tuple(of) => of.iter().any(Self::has_param),
            _ => false,
        }
    }

    pub(crate) const USIZE: Self = Self::Num(Num::Usize);
}

/// The bound of a type parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    Number,
    Int,
    Float,
    /// Any kernel value: it has only the methods of the author's traits.
    KernelValue,
}

impl Bound {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "Number",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::KernelValue => "KernelValue",
        }
    }
}

/// The number types that have a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Int,
    Wide,
    Signed,
    Unsigned,
    Float,
    Any,
    /// Floats, and signed integers.
    Negative,
}

/// The type of an argument or a result, relative to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RelativeType {
    Own,
    /// The receiver's type, but not zero.
    Divisor,
    Unsigned,
    U32,
    /// A small `u32`.
    Few,
    Bool,
    To(Num),
}

/// A built-in method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) args: &'static [RelativeType],
    pub(crate) ret: RelativeType,
    /// The bound that gives a type parameter this method.
    pub(crate) bound: Option<Bound>,
    /// The arguments with which the method of an index returns that index, if there are any.
    pub(crate) same: Option<&'static str>,
}

impl Method {
    pub(crate) fn is_of(&self, num: Num) -> bool {
        match self.class {
            Class::Int => !num.is_float(),
            Class::Wide => !num.is_float() && !num.is_narrow(),
            Class::Signed => num.is_signed(),
            Class::Unsigned => !num.is_float() && !num.is_signed(),
            Class::Float => num.is_float(),
            Class::Any => true,
            Class::Negative => num.is_float() || num.is_signed(),
        }
    }

    pub(crate) fn of(of: RelativeType, num: Num) -> Ty {
        match of {
            RelativeType::Own | RelativeType::Divisor => Ty::Num(num),
            RelativeType::Unsigned => Ty::Num(num.unsigned()),
            RelativeType::U32 | RelativeType::Few => Ty::Num(Num::U32),
            RelativeType::Bool => Ty::Bool,
            RelativeType::To(num) => Ty::Num(num),
        }
    }
}

const fn method(
    name: &'static str,
    class: Class,
    args: &'static [RelativeType],
    ret: RelativeType,
    bound: Option<Bound>,
    same: Option<&'static str>,
) -> Method {
    Method { name, class, args, ret, bound, same }
}

/// The methods whose results have the same bits on every backend.
pub(crate) const METHODS: [Method; 69] = {
    use Class::{Any, Float, Int, Negative, Signed, Unsigned, Wide};
    use RelativeType::{Bool, Divisor, Few, Own, To, U32};
    const INT: Option<Bound> = Some(Bound::Int);
    const FLOAT: Option<Bound> = Some(Bound::Float);
    const NUMBER: Option<Bound> = Some(Bound::Number);
    [
        method("wrapping_add", Int, &[Own], Own, INT, Some("0")),
        method("wrapping_sub", Int, &[Own], Own, INT, Some("0")),
        method("wrapping_mul", Int, &[Own], Own, INT, Some("1")),
        method("wrapping_neg", Int, &[], Own, INT, None),
        method("wrapping_shl", Wide, &[U32], Own, INT, Some("0")),
        method("wrapping_shr", Wide, &[U32], Own, INT, Some("0")),
        method("saturating_add", Int, &[Own], Own, INT, Some("0")),
        method("saturating_sub", Int, &[Own], Own, INT, Some("0")),
        method("rotate_left", Wide, &[U32], Own, INT, None),
        method("rotate_right", Wide, &[U32], Own, INT, None),
        method("swap_bytes", Int, &[], Own, INT, None),
        method("reverse_bits", Int, &[], Own, INT, None),
        method("count_ones", Int, &[], U32, INT, None),
        method("count_zeros", Int, &[], U32, INT, None),
        method("leading_zeros", Int, &[], U32, INT, None),
        method("trailing_zeros", Int, &[], U32, INT, None),
        method("is_power_of_two", Unsigned, &[], Bool, None, None),
        method("next_power_of_two", Unsigned, &[], Own, None, None),
        method("is_multiple_of", Unsigned, &[Own], Bool, None, None),
        method("next_multiple_of", Unsigned, &[Divisor], Own, None, Some("1")),
        method("div_euclid", Int, &[Divisor], Own, INT, Some("1")),
        method("rem_euclid", Int, &[Divisor], Own, INT, Some("1000")),
        method("div_ceil", Unsigned, &[Divisor], Own, None, Some("1")),
        method("midpoint", Any, &[Own], Own, FLOAT, None),
        method("ilog2", Int, &[], U32, INT, None),
        method("isqrt", Int, &[], Own, INT, None),
        method("pow", Int, &[Few], Own, INT, Some("1")),
        method("clamp", Any, &[Own, Own], Own, FLOAT, Some("0, 999")),
        method("signum", Negative, &[], Own, None, None),
        method("abs_diff", Int, &[Own], RelativeType::Unsigned, None, Some("0")),
        method("unsigned_abs", Signed, &[], RelativeType::Unsigned, None, None),
        method("is_positive", Signed, &[], Bool, None, None),
        method("is_negative", Signed, &[], Bool, None, None),
        method("abs", Negative, &[], Own, None, None),
        method("min", Any, &[Own], Own, FLOAT, Some("999")),
        method("max", Any, &[Own], Own, FLOAT, Some("0")),
        method("sqrt", Float, &[], Own, FLOAT, None),
        method("floor", Float, &[], Own, FLOAT, None),
        method("ceil", Float, &[], Own, FLOAT, None),
        method("round", Float, &[], Own, FLOAT, None),
        method("round_ties_even", Float, &[], Own, FLOAT, None),
        method("trunc", Float, &[], Own, FLOAT, None),
        method("fract", Float, &[], Own, FLOAT, None),
        method("recip", Float, &[], Own, FLOAT, None),
        method("mul_add", Float, &[Own, Own], Own, FLOAT, None),
        method("to_radians", Float, &[], Own, FLOAT, None),
        method("to_degrees", Float, &[], Own, FLOAT, None),
        method("is_nan", Float, &[], Bool, FLOAT, None),
        method("is_finite", Float, &[], Bool, FLOAT, None),
        method("is_infinite", Float, &[], Bool, FLOAT, None),
        method("to_f32", Any, &[], To(Num::F32), NUMBER, None),
        method("to_f64", Any, &[], To(Num::F64), NUMBER, None),
        method("to_i32", Any, &[], To(Num::I32), NUMBER, None),
        method("to_i64", Any, &[], To(Num::I64), NUMBER, None),
        method("to_u32", Any, &[], To(Num::U32), NUMBER, None),
        method("to_u64", Any, &[], To(Num::U64), NUMBER, None),
        method("to_usize", Any, &[], To(Num::Usize), NUMBER, Some("")),
        // Methods of arrays, vectors and matrices.
        method("len", Class::Float, &[], RelativeType::To(Num::Usize), None, None),
        method("sum", Class::Float, &[], Own, None, None),
        method("dot", Class::Float, &[Own], Own, None, None),
        method("norm", Class::Float, &[], Own, None, None),
        method("norm_squared", Class::Float, &[], Own, None, None),
        method("normalized", Class::Float, &[], Own, None, None),
        method("component_mul", Class::Float, &[Own], Own, None, None),
        method("cross", Class::Float, &[Own], Own, None, None),
        method("transpose", Class::Float, &[], Own, None, None),
        method("trace", Class::Float, &[], Own, None, None),
        method("determinant", Class::Float, &[], Own, None, None),
        method("inverse", Class::Float, &[], Own, None, None),
    ]
};

/// How many of [`METHODS`] are methods of numbers. The others are methods of vectors, matrices and arrays.
pub(crate) const OF_NUMBERS: usize = 57;
