//! Reads the number of registers of kernels from the machine code that NVRTC returns, an ELF file. Its sections
//! `.nv.info` hold attributes: a format and a number, one byte each, and two bytes of value. In the format
//! [`SIZED`], these are the size of a value that follows.

/// The format of attributes with a value of any size.
const SIZED: u8 = 4;

/// The number of registers of a function: the index of its symbol, and the number, 32 bits each.
const REGISTERS: u8 = 0x2f;

/// The largest number of registers per thread of the kernels in an image. None if it is not as expected.
pub(super) fn max_registers(image: &[u8]) -> Option<u32> {
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(read::<8>(image, 0x28)?).ok()?;
    let [size, count, names] = [0x3a, 0x3c, 0x3e].map(|at| read::<2>(image, at));
    let (size, count, names) = (size? as usize, count? as usize, names? as usize);
    let section = |at: usize| image.get(table.checked_add(at.checked_mul(size)?)?..);
    let contents = |section: &[u8]| {
        let [begin, length] = [0x18, 0x20].map(|at| read::<8>(section, at));
        let begin = usize::try_from(begin?).ok()?;
        image.get(begin..begin.checked_add(usize::try_from(length?).ok()?)?)
    };
    let names = contents(section(names)?)?;
    let mut most = None;
    for at in 0..count {
        let section = section(at)?;
        let name = names.get(read::<4>(section, 0)? as usize..)?;
        if name.starts_with(b".nv.info\0") {
            most = most.max(registers(contents(section)?));
        }
    }
    most
}

fn registers(mut attributes: &[u8]) -> Option<u32> {
    let mut most = None;
    while let [format, attribute, low, high, rest @ ..] = attributes {
        let size = match *format {
            SIZED => usize::from(u16::from_le_bytes([*low, *high])),
            _ => 0,
        };
        let (value, rest) = rest.split_at_checked(size)?;
        if (*format, *attribute) == (SIZED, REGISTERS) {
            most = most.max(Some(read::<4>(value, 4)? as u32));
        }
        attributes = rest;
    }
    most
}

/// A little-endian number of `N` bytes, at most 8.
fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(format: u8, number: u8, value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![format, number];
        bytes.extend((value.len() as u16).to_le_bytes());
        bytes.extend(value);
        bytes
    }

    fn registers_of(symbol: u32, count: u32) -> Vec<u8> {
        let value = [symbol.to_le_bytes(), count.to_le_bytes()].concat();
        attribute(SIZED, REGISTERS, &value)
    }

    #[test]
    fn the_largest_number_is_found_among_other_attributes() {
        let short = vec![1, 0x2f, 0xff, 0xff];
        let attributes =
            [short, registers_of(3, 40), attribute(SIZED, 7, &[1; 12]), registers_of(5, 32)];
        assert_eq!(registers(&attributes.concat()), Some(40));
    }

    #[test]
    fn damaged_attributes_and_images_have_no_number() {
        let whole = registers_of(1, 24);
        for length in 4..whole.len() {
            assert_eq!(registers(&whole[..length]), None, "{length} bytes");
        }
        for image in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01", &[0xff; 200]] {
            assert_eq!(max_registers(image), None);
        }
        let mut header = b"\x7fELF\x02\x01".to_vec();
        header.resize(0x40, 0xff);
        assert_eq!(max_registers(&header), None);
    }
}
