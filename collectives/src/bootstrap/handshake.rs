//! The handshake: both sides prove that they know the secret.
//!
//! 1. The connecting side sends `HELLO`: a mark, the protocol's version, its rank, its world size and a random nonce.
//! 2. Rank 0 answers with `CHALLENGE`: its nonce.
//! 3. The connecting side sends `PROOF`: a MAC over its role and all of that.
//! 4. Rank 0 sends `WELCOME`: the same for its role. It sends `REJECTED` instead at any step, with the reason.
//!
//! The keys of the two directions are MACs over the same data for two more roles.

use super::frame::{Frame, MacChannel};
use super::{Error, Rejection, Result, Secret};

/// The version of the protocol.
pub(crate) const VERSION: u32 = 3;
/// The longest body of a frame of the handshake.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64;

const MARK: [u8; 8] = *b"qdrntdzv";
pub(crate) const HELLO: u8 = 1;
pub(crate) const CHALLENGE: u8 = 2;
pub(crate) const PROOF: u8 = 3;
pub(crate) const WELCOME: u8 = 4;
pub(crate) const REJECTED: u8 = 5;

pub(crate) type Nonce = [u8; 32];

/// What the two sides agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    pub(crate) rank: u32,
    pub(crate) world_size: u32,
    pub(crate) nonce: Nonce,
}

/// What a MAC proves, so that none can be used for another purpose.
#[derive(Clone, Copy)]
enum Role {
    Member = 1,
    Leader = 2,
    ToLeader = 3,
    ToMember = 4,
}

impl Hello {
    pub(crate) fn new(rank: usize, world_size: usize) -> Result<Self> {
        // `RankConfig::check` has checked that they fit.
        let (rank, world_size) = (rank as u32, world_size as u32);
        Ok(Self { version: VERSION, rank, world_size, nonce: nonce()? })
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let numbers = [self.version, self.rank, self.world_size].map(u32::to_le_bytes);
        [&MARK[..], numbers.as_flattened(), &self.nonce].concat()
    }

    /// `None` if this is not a hello of any version. The other numbers of another version mean nothing.
    pub(crate) fn parse(frame: &Frame) -> Option<Self> {
        let body = frame.body.strip_prefix(&MARK).filter(|_| frame.kind == HELLO)?;
        let (version, body) = split_u32(body)?;
        if version != VERSION {
            return Some(Self { version, rank: 0, world_size: 0, nonce: [0; 32] });
        }
        let (rank, body) = split_u32(body)?;
        let (world_size, nonce) = split_u32(body)?;
        Some(Self { version, rank, world_size, nonce: nonce.try_into().ok()? })
    }
}

/// One handshake after both nonces are known.
pub(crate) struct Transcript<'a> {
    pub(crate) secret: &'a Secret,
    pub(crate) hello: Hello,
    pub(crate) challenge: Nonce,
}

impl Transcript<'_> {
    fn mac(&self, role: Role) -> blake3::Hash {
        let data = [&[role as u8][..], &self.hello.body(), &self.challenge].concat();
        blake3::keyed_hash(self.secret.key(), &data)
    }

    /// The proof of the connecting side.
    pub(crate) fn proof(&self) -> [u8; 32] {
        *self.mac(Role::Member).as_bytes()
    }

    /// The proof of rank 0.
    pub(crate) fn welcome(&self) -> [u8; 32] {
        *self.mac(Role::Leader).as_bytes()
    }

    /// Whether a body is the connecting side's proof.
    pub(crate) fn is_proof(&self, body: &[u8]) -> bool {
        is_mac(body, self.mac(Role::Member))
    }

    /// Whether a body is rank 0's proof.
    pub(crate) fn is_welcome(&self, body: &[u8]) -> bool {
        is_mac(body, self.mac(Role::Leader))
    }

    /// The channel to rank 0, and the one from it.
    pub(crate) fn channels(&self) -> (MacChannel, MacChannel) {
        let channel = |role| MacChannel::new(*self.mac(role).as_bytes());
        (channel(Role::ToLeader), channel(Role::ToMember))
    }
}

fn is_mac(body: &[u8], mac: blake3::Hash) -> bool {
    // The comparison takes constant time.
    <[u8; 32]>::try_from(body).is_ok_and(|body| mac == blake3::Hash::from_bytes(body))
}

/// A random number that is used once.
pub(crate) fn nonce() -> Result<Nonce> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce)
        .map_err(|error| Error::io("the system's random generator")(error.into()))?;
    Ok(nonce)
}

pub(crate) fn rejected_body(reason: Rejection) -> Vec<u8> {
    let (code, argument) = reason.code();
    [&[code][..], &argument.to_le_bytes()].concat()
}

pub(crate) fn parse_rejected(body: &[u8]) -> Option<Rejection> {
    let (&code, argument) = body.split_first()?;
    Rejection::from_code(code, u32::from_le_bytes(argument.try_into().ok()?))
}

pub(crate) fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}
