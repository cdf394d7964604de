//! `{:?}` of values that are not scalars: the text that a derived `Debug` writes.

use super::{Align, Format, FormatPiece, FormatSpec};
use crate::types::{StructKind, Type};

impl Format {
    /// The format of the scalars of arguments with these types. An argument that is not a scalar is written as a
    /// derived `Debug` does.
    ///
    /// # Examples
    /// ```
    /// use quadrants_ir::{Const, ScalarType::F32, format::Format, types::Type};
    /// let format = Format::debug(0).of_scalars(&[Type::Vector(F32, 2)]);
    /// let values = [Const::from(1.5_f32), Const::from(2_f32)];
    /// assert_eq!(format.fill(&values), "Vector([1.5, 2.0])");
    /// ```
    #[must_use]
    pub fn of_scalars(&self, types: &[Type]) -> Self {
        let mut firsts = vec![0];
        firsts.extend(types.iter().scan(0, |next, ty| {
            *next += ty.leaves() as u32;
            Some(*next)
        }));
        let mut writer = Writer::default();
        for piece in &self.pieces {
            match piece {
                FormatPiece::Text(text) => writer.text.push_str(text),
                FormatPiece::Variant { .. } => writer.put(piece.clone()),
                FormatPiece::Value { at, spec } => {
                    if let Some(ty) = types.get(*at as usize) {
                        (writer.next, writer.spec) = (firsts[*at as usize], *spec);
                        writer.value(*ty, 0);
                    }
                }
            }
        }
        writer.end_text();
        Self { pieces: writer.pieces }
    }
}

/// Writes the pieces of a format.
#[derive(Default)]
struct Writer {
    pieces: Vec<FormatPiece>,
    /// The text after the last piece.
    text: String,
    /// The position of the next scalar.
    next: u32,
    /// How scalars are written.
    spec: FormatSpec,
}

impl Writer {
    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(FormatPiece::Text(std::mem::take(&mut self.text)));
        }
    }

    fn put(&mut self, piece: FormatPiece) {
        self.end_text();
        self.pieces.push(piece);
    }

    fn scalar(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Writes the value of the next scalars, in lines that are indented `depth` times if the format is `{:#?}`.
    fn value(&mut self, ty: Type, depth: usize) {
        match ty {
            Type::Scalar(_) => {
                let (at, spec) = (self.scalar(), self.spec);
                self.put(FormatPiece::Value { at, spec });
            }
            Type::Tuple([one]) if !self.spec.alternate => {
                self.text.push('(');
                self.value(*one, depth);
                self.text.push_str(",)");
            }
            Type::Tuple([]) => {
                let most = self.spec.precision.map_or(2, |most| most.min(2) as usize);
                self.spec.pad(&"()"[..most], Align::Left, &mut self.text);
            }
            Type::Tuple(parts) => self.list("(", ")", depth, parts.iter().map(|ty| ("", *ty))),
            Type::Array(element, len) => self.array(*element, len, depth),
            Type::Vector(ty, len) => {
                let inner = |this: &mut Self, depth| this.array(Type::Scalar(ty), len, depth);
                self.wrapped("Vector", depth, inner);
            }
            Type::Matrix(ty, rows, columns) => self.wrapped("Matrix", depth, |this, depth| {
                this.parts("[", "]", depth, rows, |this, _, depth| {
                    this.array(Type::Scalar(ty), columns, depth);
                });
            }),
            Type::Struct(of) => match of.kind {
                StructKind::Enum(variants) => {
                    let names = variants.iter().map(|of| (of.name.to_owned(), of.number));
                    let (at, names) = (self.scalar(), names.collect());
                    self.put(FormatPiece::Variant { at, names });
                }
                StructKind::Struct | StructKind::Complex => {
                    self.text.push_str(of.name);
                    let is_tuple = of.fields.first().is_some_and(|field| field.name == "0");
                    let fields = of.fields.iter();
                    if is_tuple {
                        self.list("(", ")", depth, fields.map(|field| ("", field.ty)));
                    } else if !of.fields.is_empty() {
                        let fields = fields.map(|field| (field.name, field.ty));
                        let space = if self.spec.alternate { "" } else { " " };
                        self.text.push(' ');
                        self.list(&format!("{{{space}"), &format!("{space}}}"), depth, fields);
                    }
                }
            },
        }
    }

    fn array(&mut self, element: Type, len: usize, depth: usize) {
        self.list("[", "]", depth, (0..len).map(|_| ("", element)));
    }

    /// A tuple struct with one field.
    fn wrapped(&mut self, name: &str, depth: usize, inner: impl Fn(&mut Self, usize)) {
        self.text.push_str(name);
        self.parts("(", ")", depth, 1, |this, _, depth| inner(this, depth));
    }

    /// Values in brackets, with the names of fields.
    fn list<'a>(
        &mut self,
        open: &str,
        close: &str,
        depth: usize,
        parts: impl Iterator<Item = (&'a str, Type)>,
    ) {
        let parts: Vec<_> = parts.collect();
        self.parts(open, close, depth, parts.len(), |this, at, depth| {
            let (name, ty) = parts[at];
            if !name.is_empty() {
                this.text.push_str(name.strip_prefix("r#").unwrap_or(name));
                this.text.push_str(": ");
            }
            this.value(ty, depth);
        });
    }

    /// A number of parts in brackets. Only brackets without spaces can be empty.
    fn parts(
        &mut self,
        open: &str,
        close: &str,
        depth: usize,
        count: usize,
        part: impl Fn(&mut Self, usize, usize),
    ) {
        let is_pretty = self.spec.alternate && count > 0;
        self.text.push_str(open);
        for at in 0..count {
            if is_pretty {
                self.line(depth + 1);
            } else if at > 0 {
                self.text.push_str(", ");
            }
            part(self, at, depth + 1);
            if is_pretty {
                self.text.push(',');
            }
        }
        if is_pretty {
            self.line(depth);
        }
        self.text.push_str(close);
    }

    fn line(&mut self, depth: usize) {
        self.text.push('\n');
        self.text.push_str(&"    ".repeat(depth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Const, ScalarType,
        format::FormatArgument,
        types::{Field, Struct, Variant},
    };

    #[derive(Debug)]
    #[allow(unused)] // its fields are only printed
    struct Ray {
        origin: [f32; 2],
        r#type: Kind,
    }

    #[derive(Debug)]
    #[allow(unused)] // as above
    struct Pair(i32, bool);

    #[derive(Debug)]
    struct Unit;

    #[derive(Debug)]
    enum Kind {
        Near = -3,
        Far,
    }

    const I32: Type = Type::Scalar(ScalarType::I32);
    const F32: Type = Type::Scalar(ScalarType::F32);
    const BOOL: Type = Type::Scalar(ScalarType::Bool);
    const KIND: Type = Type::Struct(&Struct {
        name: "Kind",
        fields: &[Field { name: "discriminant", ty: I32 }],
        kind: StructKind::Enum(&[
            Variant { name: "Near", number: -3 },
            Variant { name: "Far", number: -2 },
        ]),
    });
    const RAY: Type = Type::Struct(&Struct {
        name: "Ray",
        fields: &[
            Field { name: "origin", ty: Type::Array(&F32, 2) },
            Field { name: "r#type", ty: KIND },
        ],
        kind: StructKind::Struct,
    });
    const PAIR: Type = Type::Struct(&Struct {
        name: "Pair",
        fields: &[Field { name: "0", ty: I32 }, Field { name: "1", ty: BOOL }],
        kind: StructKind::Struct,
    });
    const UNIT: Type =
        Type::Struct(&Struct { name: "Unit", fields: &[], kind: StructKind::Struct });

    #[test]
    fn aggregates_are_written_as_a_derived_debug_does() {
        macro_rules! same_as_std {
            ($value:expr, $ty:expr, [$($scalar:expr),*]) => { same_as_std! {
                $value, $ty, [$($scalar),*];
                "{:?}" "a {0:#?} b {0:?}" "{:8.2?}|" "{:<+6?}|" "{:#08.1?}"
            }};
            ($value:expr, $ty:expr, $scalars:expr; $($text:literal)*) => {$(
                let position = |argument| match argument {
                    FormatArgument::Position(at) => Ok(at),
                    FormatArgument::Name(name) => Err(name),
                };
                let format = Format::parse($text, position).unwrap().of_scalars(&[$ty]);
                let values: &[Const] = &$scalars;
                assert_eq!(format.fill(values), format!($text, $value));
            )*};
        }
        let c = |value: i32| Const::from(value);
        let f = |value: f32| Const::from(value);
        same_as_std!((1, true), Type::Tuple(&[I32, BOOL]), [c(1), Const::from(true)]);
        same_as_std!((1,), Type::Tuple(&[I32]), [c(1)]);
        same_as_std!((), Type::Tuple(&[]), []);
        same_as_std!(
            [[1, -2], [3, 4]],
            Type::Array(&Type::Array(&I32, 2), 2),
            [c(1), c(-2), c(3), c(4)]
        );
        same_as_std!([0_i32; 0], Type::Array(&I32, 0), []);
        same_as_std!(Pair(5, false), PAIR, [c(5), Const::from(false)]);
        same_as_std!(Unit, UNIT, []);
        let far = Ray { origin: [0.5, -1e20], r#type: Kind::Far };
        same_as_std!(far, RAY, [f(0.5), f(-1e20), c(-2)]);
        let near = (Ray { origin: [0.0, 1.0], r#type: Kind::Near }, 7);
        same_as_std!(near, Type::Tuple(&[RAY, I32]), [f(0.0), f(1.0), c(-3), c(7)]);
        let vector = Format::debug(0).of_scalars(&[Type::Vector(ScalarType::F32, 2)]);
        assert_eq!(vector.fill(&[f(1.0), f(2.5)]), "Vector([1.0, 2.5])");
        let matrix = Format::debug(0).of_scalars(&[Type::Matrix(ScalarType::I32, 2, 2)]);
        assert_eq!(matrix.fill(&[c(1), c(2), c(3), c(4)]), "Matrix([[1, 2], [3, 4]])");
        assert_eq!(matrix.fill(&[c(1), c(2), c(3)]), "Matrix([[1, 2], [3, …]])");
    }
}
