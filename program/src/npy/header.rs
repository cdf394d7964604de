//! The header of a `.npy` file: a line of Python, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }`.

use std::io::Read;

use quadrants_ir::ScalarType;

use crate::NpyProblem;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The elements begin at a multiple of this.
const ALIGNMENT: usize = 64;
/// The most bytes of a header: the default of NumPy's `max_header_size`.
const MAX_HEADER_BYTES: u64 = 10_000;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// NumPy's name of the type.
    pub(super) data_type: String,
    pub(super) is_column_major: bool,
    pub(super) shape: Vec<usize>,
}

/// NumPy's names of a type: the one that is big-endian, and those that are little-endian or of single bytes.
pub(super) fn names(scalar: ScalarType) -> (&'static str, [&'static str; 2]) {
    match scalar {
        ScalarType::F16 => (">f2", ["<f2", "=f2"]),
        ScalarType::F32 => (">f4", ["<f4", "=f4"]),
        ScalarType::F64 => (">f8", ["<f8", "=f8"]),
        ScalarType::I8 => (">i1", ["|i1", "<i1"]),
        ScalarType::I16 => (">i2", ["<i2", "=i2"]),
        ScalarType::I32 => (">i4", ["<i4", "=i4"]),
        ScalarType::I64 => (">i8", ["<i8", "=i8"]),
        ScalarType::U8 => (">u1", ["|u1", "<u1"]),
        ScalarType::U16 => (">u2", ["<u2", "=u2"]),
        ScalarType::U32 => (">u4", ["<u4", "=u4"]),
        ScalarType::U64 => (">u8", ["<u8", "=u8"]),
        ScalarType::Bool => (">b1", ["|b1", "<b1"]),
    }
}

/// The bytes before the elements, in version 1 of the format.
pub(super) fn written(scalar: ScalarType, shape: &[usize]) -> Vec<u8> {
    let (_, [name, _]) = names(scalar);
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if extents.len() == 1 { "," } else { "" };
    let shape = format!("({}{comma})", extents.join(", "));
    let mut text = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    let len = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    text.extend(std::iter::repeat_n(' ', len - 1 - text.len()));
    text.push('\n');
    [MAGIC, &[1, 0], &(len as u16).to_le_bytes(), text.as_bytes()].concat()
}

impl Header {
    pub(super) fn read(file: &mut impl Read) -> Result<Self, NpyProblem> {
        let (mut magic, mut version) = ([0; MAGIC.len()], [0; 2]);
        file.read_exact(&mut magic)?;
        file.read_exact(&mut version)?;
        if magic != MAGIC {
            return Err(NpyProblem::Format { what: "it does not begin as a `.npy` file" });
        }
        let len = match version[0] {
            1 => {
                let mut len = [0; 2];
                file.read_exact(&mut len)?;
                u64::from(u16::from_le_bytes(len))
            }
            2 | 3 => {
                let mut len = [0; 4];
                file.read_exact(&mut len)?;
                u64::from(u32::from_le_bytes(len))
            }
            _ => return Err(NpyProblem::Format { what: "its version is not 1, 2 or 3" }),
        };
        if len > MAX_HEADER_BYTES {
            return Err(NpyProblem::Format { what: "its header is longer than 10 000 bytes" });
        }
        let mut text = Vec::new();
        file.take(len).read_to_end(&mut text)?;
        if text.len() as u64 != len {
            return Err(NpyProblem::Format { what: "it ends in its header" });
        }
        let text = str::from_utf8(&text).ok();
        text.and_then(Self::parse)
            .ok_or(NpyProblem::Format { what: "its header is not that of an array of numbers" })
    }

    fn parse(text: &str) -> Option<Self> {
        let (mut data_type, mut is_column_major, mut shape) = (None, None, None);
        let mut rest = UnparsedHeader(text);
        rest.expect('{')?;
        while !rest.skip('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" => data_type = Some(rest.string()?.to_owned()),
                "fortran_order" => is_column_major = Some(rest.bool()?),
                "shape" => shape = Some(rest.tuple()?),
                _ => return None,
            }
            if !rest.skip(',') {
                rest.expect('}')?;
                break;
            }
        }
        let is_end = rest.0.trim_ascii().is_empty();
        is_end.then_some(Self {
            data_type: data_type?,
            is_column_major: is_column_major?,
            shape: shape?,
        })
    }
}

/// The part of a header that was not read yet.
struct UnparsedHeader<'a>(&'a str);

impl<'a> UnparsedHeader<'a> {
    /// Skips a character, if it is next.
    fn skip(&mut self, next: char) -> bool {
        let rest = self.0.trim_ascii_start().strip_prefix(next);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, next: char) -> Option<()> {
        self.skip(next).then_some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = ['\'', '"'].into_iter().find(|quote| self.skip(*quote))?;
        let (string, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        Some(string)
    }

    fn bool(&mut self) -> Option<bool> {
        let text = self.0.trim_ascii_start();
        [("True", true), ("False", false)].into_iter().find_map(|(name, value)| {
            self.0 = text.strip_prefix(name)?;
            Some(value)
        })
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        let mut numbers = Vec::new();
        self.expect('(')?;
        while !self.skip(')') {
            let text = self.0.trim_ascii_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            numbers.push(text[..end].parse().ok()?);
            self.0 = &text[end..];
            // Python 2 writes long integers so.
            self.skip('L');
            if !self.skip(',') {
                self.expect(')')?;
                break;
            }
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(data_type: &str, is_column_major: bool, shape: &[usize]) -> Option<Header> {
        Some(Header { data_type: data_type.to_owned(), is_column_major, shape: shape.to_vec() })
    }

    #[test]
    fn headers_are_parsed() {
        let parse = Header::parse;
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }   \n";
        assert_eq!(parse(text), header("<f4", false, &[3, 2]));
        let text = "{\"shape\":(),\"fortran_order\":True,\"descr\":\"|b1\"}";
        assert_eq!(parse(text), header("|b1", true, &[]));
        let text = "{'shape': (10L,), 'fortran_order': False, 'descr': '>i8'}";
        assert_eq!(parse(text), header(">i8", false, &[10]));
        for wrong in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '<f4', 'other': 1, 'fortran_order': False, 'shape': (3,)}",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn written_headers_are_aligned_and_read_back() {
        for shape in [&[][..], &[3], &[0, 2], &[usize::MAX; 6]] {
            let bytes = written(ScalarType::U16, shape);
            assert_eq!((bytes.len() % ALIGNMENT, bytes.last()), (0, Some(&b'\n')));
            let read = Header::read(&mut &bytes[..]).ok();
            assert_eq!(read, header("<u2", false, shape));
        }
    }
}
