//! Sample launches: made-up values of scalars, constants and extents.
//!
//! Whether two accesses race depends on shapes and scalars, which are unknown at compile time. So the race check
//! evaluates a number of sample launches.

/// Of these, the last ones have long loops.
pub(super) const SAMPLES: u32 = HASHED + LONG_SCALARS.len() as u32;

/// The number of samples whose values are hashes.
const HASHED: u32 = 40;

/// The scalars and extents of samples with long loops, such as `0..x.len() / stride` and, inside it, `0..count`. Names
/// take turns, so that of two different scalars each is the smaller one in some sample.
const LONG_SCALARS: [i128; 3] = [9, 12, 16];
const LONG_EXTENTS: [i128; 3] = [1000, 1200, 1536];

/// The length from which a loop is long. In a shorter one, a race of distant iterations may not occur.
pub(super) const LONG_LOOP: i128 = 8;

const SCALARS: [i128; 10] = [0, 1, 2, 9, 12, 16, 25, 31, 40, 64];

const EXTENTS: [i128; 8] = [12, 17, 20, 24, 33, 40, 57, 64];

/// A value that is unknown at compile time.
#[derive(Clone, Copy)]
pub(super) enum SampleSymbol<'a> {
    Scalar(&'a str),
    /// An entry of the table of constants.
    Const(u32),
    Extent(&'a str, i128),
    /// The number of elements of a tensor of unknown rank.
    Len(&'a str),
}

impl SampleSymbol<'_> {
    /// The symbol's value in a sample launch.
    pub(super) fn value(self, sample: u32) -> i128 {
        let Some(turn) = sample.checked_sub(HASHED) else { return self.hashed(sample) };
        let table = match self {
            Self::Scalar(_) | Self::Const(_) => LONG_SCALARS,
            Self::Extent(..) | Self::Len(_) => LONG_EXTENTS,
        };
        // The symbol's place in the tables of other samples tells symbols apart.
        let own = (0..4).map(|sample| self.hashed(sample)).fold(0, |own, value| own * 31 + value);
        table[(own.rem_euclid(7919) as usize + turn as usize) % table.len()]
    }

    /// A hash of the symbol and the sample.
    fn hashed(self, sample: u32) -> i128 {
        let (table, kind, name, at): (&[i128], u8, &str, i128) = match self {
            Self::Scalar(name) => (&SCALARS, 1, name, 0),
            Self::Const(at) => (&SCALARS, 2, "", i128::from(at)),
            Self::Extent(name, axis) => (&EXTENTS, 3, name, axis),
            Self::Len(name) => (&EXTENTS, 4, name, 0),
        };
        // FNV-1a: values must be the same in every compilation.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let ends = [kind, at as u8, sample as u8, (sample >> 8) as u8];
        for byte in name.bytes().chain(ends) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash ^= hash >> 29;
        table[(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % table.len()]
    }
}
