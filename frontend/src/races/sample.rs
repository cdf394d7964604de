//! Numbers in place of what only a launch knows.
//!
//! Whether two accesses meet depends on shapes and scalars, which nobody knows at compile time. So the
//! question is asked for a number of made-up launches: what races in all of them is refused at once,
//! what races in some is left to each launch to prove.

/// How many made-up launches there are.
pub(super) const SAMPLES: u32 = 40;

/// Loops shorter than this say little: a race may need iterations that are further apart.
pub(super) const LONG: i128 = 8;

/// Values of scalar parameters and constants.
const SCALARS: [i128; 10] = [0, 1, 2, 9, 12, 16, 25, 31, 40, 64];

/// Extents of tensors.
const EXTENTS: [i128; 8] = [12, 17, 20, 24, 33, 40, 57, 64];

/// What a number stands for.
#[derive(Clone, Copy)]
pub(super) enum Symbol<'a> {
    /// A scalar parameter.
    Scalar(&'a str),
    /// An entry of the table of constants.
    Const(u32),
    /// An extent of a tensor.
    Extent(&'a str, i128),
    /// The number of elements of a tensor of unknown rank.
    Len(&'a str),
}

impl Symbol<'_> {
    /// The number in one of the made-up launches: always the same for the same symbol.
    pub(super) fn value(self, sample: u32) -> i128 {
        let (table, kind, name, at): (&[i128], u8, &str, i128) = match self {
            Self::Scalar(name) => (&SCALARS, 1, name, 0),
            Self::Const(at) => (&SCALARS, 2, "", i128::from(at)),
            Self::Extent(name, axis) => (&EXTENTS, 3, name, axis),
            Self::Len(name) => (&EXTENTS, 4, name, 0),
        };
        // FNV-1a: the numbers must not change from one compilation to the next.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let ends = [kind, at as u8, sample as u8, (sample >> 8) as u8];
        for byte in name.bytes().chain(ends) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash ^= hash >> 29;
        table[(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % table.len()]
    }
}
