//! Format strings of messages: parsed when a kernel is compiled, and filled in on the host with std's formatting.

mod debug;

use half::f16;
use serde::{Deserialize, Serialize};

use crate::{Const, ScalarType};

/// A parsed format string.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Format {
    /// The text and the values, in order.
    pub pieces: Vec<FormatPiece>,
}

/// A piece of a format string.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FormatPiece {
    /// Literal text.
    Text(String),
    /// A value, by the position of its argument.
    Value {
        /// The position of the argument.
        at: u32,
        /// How it is written.
        spec: FormatSpec,
    },
    /// The name of an enum's variant, by the position of its discriminant.
    Variant {
        /// The position of the discriminant.
        at: u32,
        /// The names and discriminants of the variants.
        names: Vec<(String, i64)>,
    },
}

/// How a value is written: `{:[[fill]align][+][#][0][width][.precision][type]}`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct FormatSpec {
    /// The character that fills up the width, and on which side of the value it is.
    pub align: Option<(char, Align)>,
    /// `+`
    pub plus: bool,
    /// `#`
    pub alternate: bool,
    /// `0`
    pub zero: bool,
    /// The smallest number of characters.
    pub width: u32,
    /// The number of digits after the point.
    pub precision: Option<u32>,
    /// The notation.
    pub notation: Notation,
}

/// Where a value is in a wider field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Align {
    /// `<`
    Left,
    /// `^`
    Center,
    /// `>`
    Right,
}

/// The notation of a value: the trait of `std::fmt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Notation {
    /// `{}`
    #[default]
    Display,
    /// `{:?}`
    Debug,
    /// `{:x}`
    LowerHex,
    /// `{:X}`
    UpperHex,
    /// `{:b}`
    Binary,
    /// `{:o}`
    Octal,
    /// `{:e}`
    LowerExp,
    /// `{:E}`
    UpperExp,
}

/// The argument that a value of a format string names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatArgument {
    /// `{}`: the next one, or `{0}`.
    Position(usize),
    /// `{name}`
    Name(String),
}

/// The text of a failed `assert_eq!` or `assert_ne!`, as std writes it.
#[must_use]
pub fn comparison_text(operator: &str, left: &str, right: &str, message: Option<&str>) -> String {
    let message = message.map_or_else(String::new, |message| format!(": {message}"));
    format!("assertion `left {operator} right` failed{message}\n  left: {left}\n right: {right}")
}

impl Format {
    /// Parses a format string. `position` gives the position of an argument, or why there is none.
    ///
    /// # Errors
    /// What kernels do not support in the text, or what is wrong in it.
    pub fn parse(
        text: &str,
        mut position: impl FnMut(FormatArgument) -> Result<usize, String>,
    ) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let (mut literal, mut next, mut rest) = (String::new(), 0, text);
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                literal.push_str(brace);
                rest = after;
                continue;
            }
            let Some((inside, after)) = (brace == "{").then(|| rest.split_once('}')).flatten()
            else {
                return Err(format!("`{brace}` without its counterpart; write `{brace}{brace}`"));
            };
            rest = after;
            let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
            let argument = match name.trim() {
                "" => {
                    next += 1;
                    FormatArgument::Position(next - 1)
                }
                name => match name.parse() {
                    Ok(at) => FormatArgument::Position(at),
                    Err(_) => FormatArgument::Name(name.to_owned()),
                },
            };
            let spec = FormatSpec::parse(spec.trim_end())
                .ok_or_else(|| format!("`{{{inside}}}` is not supported in kernels; they have `{{}}`, `{{name}}`, `{{0}}`, and after a `:` fill, alignment, `+`, `#`, `0`, width, precision and one of `?`, `x`, `X`, `b`, `o`, `e`, `E`"))?;
            if !literal.is_empty() {
                pieces.push(FormatPiece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(FormatPiece::Value { at: position(argument)? as u32, spec });
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(FormatPiece::Text(literal));
        }
        Ok(Self { pieces })
    }

    /// A format that is only text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { pieces: vec![FormatPiece::Text(text.to_owned())] }
    }

    /// A format that is the argument at a position, written as by `{:?}`.
    #[must_use]
    pub fn debug(at: u32) -> Self {
        let spec = FormatSpec { notation: Notation::Debug, ..FormatSpec::default() };
        Self { pieces: vec![FormatPiece::Value { at, spec }] }
    }

    /// The text with the arguments' values in it. A value that is missing is written as `…`.
    #[must_use]
    pub fn fill(&self, values: &[Const]) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            let value = |at: &u32| values.get(*at as usize);
            match piece {
                FormatPiece::Text(text) => out.push_str(text),
                FormatPiece::Value { at, spec } => match value(at) {
                    Some(value) => spec.write(*value, &mut out),
                    None => out.push('…'),
                },
                FormatPiece::Variant { at, names } => {
                    let number = value(at).and_then(|value| value.as_int());
                    let variant = names.iter().find(|(_, of)| Some(i128::from(*of)) == number);
                    out.push_str(variant.map_or("…", |(name, _)| name));
                }
            }
        }
        out
    }
}

/// The format string, with the position of each argument.
impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for piece in &self.pieces {
            match piece {
                FormatPiece::Text(text) => {
                    f.write_str(&text.replace('{', "{{").replace('}', "}}"))?
                }
                FormatPiece::Value { at, spec } if *spec == FormatSpec::default() => {
                    write!(f, "{{{at}}}")?
                }
                FormatPiece::Value { at, spec } => write!(f, "{{{at}:{spec}}}")?,
                FormatPiece::Variant { at, .. } => write!(f, "{{{at}:?}}")?,
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for FormatSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((fill, align)) = self.align {
            let sign = match align {
                Align::Left => '<',
                Align::Center => '^',
                Align::Right => '>',
            };
            write!(f, "{fill}{sign}")?;
        }
        for (is_set, sign) in [(self.plus, "+"), (self.alternate, "#"), (self.zero, "0")] {
            f.write_str(if is_set { sign } else { "" })?;
        }
        if self.width > 0 {
            write!(f, "{}", self.width)?;
        }
        if let Some(digits) = self.precision {
            write!(f, ".{digits}")?;
        }
        f.write_str(match self.notation {
            Notation::Display => "",
            Notation::Debug => "?",
            Notation::LowerHex => "x",
            Notation::UpperHex => "X",
            Notation::Binary => "b",
            Notation::Octal => "o",
            Notation::LowerExp => "e",
            Notation::UpperExp => "E",
        })
    }
}

impl FormatSpec {
    /// Parses what follows the `:`; none if it is not supported.
    fn parse(text: &str) -> Option<Self> {
        let align = |sign: char| match sign {
            '<' => Some(Align::Left),
            '^' => Some(Align::Center),
            '>' => Some(Align::Right),
            _ => None,
        };
        let (mut spec, mut rest) = (Self::default(), text);
        let mut chars = text.chars();
        let (first, second) = (chars.next(), chars.next());
        if let (Some(fill), Some(side)) = (first, second.and_then(align)) {
            spec.align = Some((fill, side));
            rest = chars.as_str();
        } else if let Some(side) = first.and_then(align) {
            spec.align = Some((' ', side));
            rest = &text[1..];
        }
        let mut flag = |sign: char| match rest.strip_prefix(sign) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        };
        (spec.plus, spec.alternate, spec.zero) = (flag('+'), flag('#'), flag('0'));
        let number = |rest: &mut &str| {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let digits = &rest[..end];
            *rest = &rest[end..];
            // As in Rust, which allows 16 bits.
            (!digits.is_empty()).then(|| digits.parse::<u16>().ok().map(u32::from))
        };
        if let Some(width) = number(&mut rest) {
            spec.width = width?;
        }
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            spec.precision = Some(number(&mut rest)??);
        }
        spec.notation = match rest {
            "" => Notation::Display,
            "?" => Notation::Debug,
            "x" => Notation::LowerHex,
            "X" => Notation::UpperHex,
            "b" => Notation::Binary,
            "o" => Notation::Octal,
            "e" => Notation::LowerExp,
            "E" => Notation::UpperExp,
            _ => return None,
        };
        Some(spec)
    }

    /// Whether values of a type have this notation.
    #[must_use]
    pub fn supports(self, ty: ScalarType) -> bool {
        match self.notation {
            Notation::Display | Notation::Debug => true,
            Notation::LowerExp | Notation::UpperExp => ty != ScalarType::Bool,
            _ => ty.int_range().is_some(),
        }
    }

    fn write(self, value: Const, out: &mut String) {
        let bits = value.bits();
        let text = match value.ty() {
            ScalarType::Bool => self.of_bool(bits != 0),
            ScalarType::I8 => self.of_int(bits as i8),
            ScalarType::I16 => self.of_int(bits as i16),
            ScalarType::I32 => self.of_int(bits as i32),
            ScalarType::I64 => self.of_int(bits as i64),
            ScalarType::U8 => self.of_int(bits as u8),
            ScalarType::U16 => self.of_int(bits as u16),
            ScalarType::U32 => self.of_int(bits as u32),
            ScalarType::U64 => self.of_int(bits),
            ScalarType::F16 => self.of_float(f16::from_bits(bits as u16)),
            ScalarType::F32 => self.of_float(f32::from_bits(bits as u32)),
            ScalarType::F64 => self.of_float(f64::from_bits(bits)),
        };
        let is_text = value.ty() == ScalarType::Bool;
        self.pad(&text, if is_text { Align::Left } else { Align::Right }, out);
    }

    /// Writes a text with the width. `default` is where it is without an alignment.
    fn pad(self, text: &str, default: Align, out: &mut String) {
        let missing = (self.width as usize).saturating_sub(text.chars().count());
        let (fill, align) = self.align.unwrap_or((' ', default));
        let before = match align {
            Align::Left => 0,
            Align::Center => missing / 2,
            Align::Right => missing,
        };
        out.extend(std::iter::repeat_n(fill, before));
        out.push_str(text);
        out.extend(std::iter::repeat_n(fill, missing - before));
    }
}

/// `format!` with the flags of a specification. The width is only passed on where zeros fill it.
macro_rules! with_flags {
    ($spec:expr, $value:expr, $notation:literal) => {{
        let (spec, value) = ($spec, $value);
        let (w, p) = (if spec.zero { spec.width as usize } else { 0 }, spec.precision);
        match (spec.plus, spec.alternate, p.map(|digits| digits as usize)) {
            (false, false, None) => format!(concat!("{:0w$", $notation, "}"), value, w = w),
            (true, false, None) => format!(concat!("{:+0w$", $notation, "}"), value, w = w),
            (false, true, None) => format!(concat!("{:#0w$", $notation, "}"), value, w = w),
            (true, true, None) => format!(concat!("{:+#0w$", $notation, "}"), value, w = w),
            (false, false, Some(p)) => {
                format!(concat!("{:0w$.p$", $notation, "}"), value, w = w, p = p)
            }
            (true, false, Some(p)) => {
                format!(concat!("{:+0w$.p$", $notation, "}"), value, w = w, p = p)
            }
            (false, true, Some(p)) => {
                format!(concat!("{:#0w$.p$", $notation, "}"), value, w = w, p = p)
            }
            (true, true, Some(p)) => {
                format!(concat!("{:+#0w$.p$", $notation, "}"), value, w = w, p = p)
            }
        }
    }};
}

impl FormatSpec {
    fn of_bool(self, value: bool) -> String {
        // Neither zeros nor a sign apply to text.
        match self.precision {
            Some(p) => format!("{value:.p$}", p = p as usize),
            None => value.to_string(),
        }
    }

    fn of_int<T>(self, value: T) -> String
    where
        T: std::fmt::Display
            + std::fmt::Debug
            + std::fmt::LowerHex
            + std::fmt::UpperHex
            + std::fmt::Binary
            + std::fmt::Octal
            + std::fmt::LowerExp
            + std::fmt::UpperExp,
    {
        match self.notation {
            Notation::Display => with_flags!(self, value, ""),
            Notation::Debug => with_flags!(self, value, "?"),
            Notation::LowerHex => with_flags!(self, value, "x"),
            Notation::UpperHex => with_flags!(self, value, "X"),
            Notation::Binary => with_flags!(self, value, "b"),
            Notation::Octal => with_flags!(self, value, "o"),
            Notation::LowerExp => with_flags!(self, value, "e"),
            Notation::UpperExp => with_flags!(self, value, "E"),
        }
    }

    fn of_float<T>(self, value: T) -> String
    where
        T: std::fmt::Display + std::fmt::Debug + std::fmt::LowerExp + std::fmt::UpperExp,
    {
        match self.notation {
            Notation::Debug => with_flags!(self, value, "?"),
            Notation::LowerExp => with_flags!(self, value, "e"),
            Notation::UpperExp => with_flags!(self, value, "E"),
            _ => with_flags!(self, value, ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(argument: FormatArgument) -> Result<usize, String> {
        match argument {
            FormatArgument::Position(at) => Ok(at),
            FormatArgument::Name(name) => Err(name),
        }
    }

    fn filled(text: &str, values: &[Const]) -> String {
        let format = Format::parse(text, position).unwrap();
        let again = Format::parse(&format.to_string(), position).unwrap();
        assert_eq!(format, again, "{text}");
        format.fill(values)
    }

    macro_rules! same_as_std {
        ($value:expr => $($text:literal)*) => {$(
            let value = $value;
            assert_eq!(filled($text, &[Const::from(value)]), format!($text, value), "{}", $text);
        )*};
    }

    #[test]
    fn text_equals_that_of_std() {
        for value in [0, 7, -7, i32::MIN, i32::MAX] {
            same_as_std!(value => "{}" "{:?}" "{:x}" "{:#010X}" "{:b}" "{:o}" "{:e}" "{:+}" "{:8}|" "{:<8}|"
                "{:*^9}|" "{:>+8}|" "{:08}" "{:+08}" "{:.2}" "{:.2e}" "{:#x}" "{:>#8x}" "{:E}");
        }
        for value in [0.0, -0.0, 1.5, -2.0e10, 1e-7, 1e300, f64::NAN, f64::INFINITY, -f64::INFINITY]
        {
            same_as_std!(value => "{}" "{:?}" "{:.3}" "{:8.2}|" "{:<8.2}|" "{:^+9.1}|" "{:08.3}" "{:+}" "{:e}"
                "{:.3e}" "{:012.3E}" "{:.0}" "{:#?}" "{:+012}" "{:.1?}" "{:_>12}");
            same_as_std!(value as f32 => "{}" "{:?}" "{:.3}" "{:08.3}" "{:e}" "{:>12}");
            same_as_std!(f16::from_f64(value) => "{}" "{:?}" "{:.3}" "{:8.2}|" "{:e}");
        }
        for value in [true, false] {
            same_as_std!(value => "{}" "{:?}" "{:8}|" "{:>8}|" "{:-^8}|" "{:.2}" "{:08}|" "{:+}");
        }
        for value in [0_u8, 255] {
            same_as_std!(value => "{}" "{:02x}" "{:#b}");
            same_as_std!(value as i8 => "{}" "{:x}" "{:e}");
        }
        same_as_std!(u64::MAX => "{}" "{:x}" "{:e}");
        same_as_std!(i64::MIN => "{}" "{:x}" "{:30}");
        same_as_std!(-3_i16 => "{:x}" "{:>6}");
        same_as_std!(40_000_u16 => "{}" "{:o}");
    }

    #[test]
    fn arguments_and_braces_are_as_in_std() {
        let values = [Const::from(1_i32), Const::from(2.5_f32), Const::from(true)];
        assert_eq!(filled("{2} {} {{{1:?}}} {} {0:>3}", &values), "true 1 {2.5} 2.5   1");
        assert_eq!(filled("", &values), "");
        assert_eq!(filled("}}é{{", &values), "}é{");
    }

    #[test]
    fn other_specifications_are_rejected() {
        for text in
            ["{", "}", "{0", "{:", "{:y}", "{:x?}", "{:1$}", "{:.*}", "{:w$}", "{:.}", "{:99999}"]
        {
            assert!(Format::parse(text, position).is_err(), "{text}");
        }
        assert_eq!(Format::parse("{name}", position), Err("name".to_owned()));
    }
}
