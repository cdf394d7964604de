//! Identities of types: 128-bit hashes that also differ for types of equal layout.

/// The identity of a type that its name alone determines.
#[must_use]
pub const fn type_identity(name: &str) -> u128 {
    let (name, mut state, mut at) = (name.as_bytes(), OFFSET, 0);
    while at < name.len() {
        state = step(state, name[at]);
        at += 1;
    }
    // An end mark: no UTF-8 text contains this byte, so `with_part` cannot continue a name.
    step(state, 0xff)
}

/// Extends the identity `of` by `part`: a type argument's identity or a constant. The order of the parts matters.
#[must_use]
pub const fn with_part(of: u128, part: u128) -> u128 {
    let (bytes, mut state, mut at) = (part.to_le_bytes(), of, 0);
    while at < bytes.len() {
        state = step(state, bytes[at]);
        at += 1;
    }
    state
}

/// FNV-1a with 128 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

const fn step(state: u128, byte: u8) -> u128 {
    (state ^ byte as u128).wrapping_mul(PRIME)
}
