//! Frames: how messages are separated on a connection, and how they are authenticated after the handshake.
//!
//! A frame is its kind (1 byte), the length of its body (4 bytes, little endian) and the body. After the handshake the
//! last 32 bytes of the body are a MAC over the number of the frame in its direction, its kind and the rest of the
//! body.

use std::io::{self, ErrorKind, Read};

const HEADER: usize = 5;
/// The length of a MAC.
pub(crate) const MAC: usize = 32;

/// A frame as received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

/// A frame is longer than its receiver allows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes is too long")]
pub(crate) struct FrameTooLong(u32);

/// The bytes of a frame that is not authenticated.
pub(crate) fn encode(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.push(kind);
    bytes.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// What was read from a connection and is not yet a whole frame.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
}

impl Incoming {
    /// Reads once. `Some(0)` at the end of the stream, `None` on a timeout.
    pub(crate) fn read_from(&mut self, stream: &mut impl Read) -> io::Result<Option<usize>> {
        let mut chunk = [0; 2048];
        match stream.read(&mut chunk) {
            Ok(count) => {
                self.bytes.extend_from_slice(&chunk[..count]);
                Ok(Some(count))
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Takes the next whole frame.
    pub(crate) fn next(&mut self, longest_body: usize) -> Result<Option<Frame>, FrameTooLong> {
        let Some((header, rest)) = self.bytes.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let [kind, length @ ..] = *header;
        let length = u32::from_le_bytes(length);
        if length as usize > longest_body {
            return Err(FrameTooLong(length));
        }
        let Some(body) = rest.get(..length as usize) else { return Ok(None) };
        let frame = Frame { kind, body: body.to_vec() };
        self.bytes.drain(..HEADER + length as usize);
        Ok(Some(frame))
    }
}

/// One direction of an authenticated connection: its key and the number of the next frame.
pub(crate) struct Channel {
    key: [u8; 32],
    next: u64,
}

impl Channel {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key, next: 0 }
    }

    fn mac(&mut self, kind: u8, body: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&self.next.to_le_bytes()).update(&[kind]).update(body);
        self.next += 1;
        hasher.finalize()
    }

    /// The bytes of the next frame to send.
    pub(crate) fn seal(&mut self, kind: u8, body: &[u8]) -> Vec<u8> {
        let mac = self.mac(kind, body);
        encode(kind, &[body, mac.as_bytes()].concat())
    }

    /// Takes the MAC off the next received frame. `None` if it is wrong.
    pub(crate) fn open(&mut self, mut frame: Frame) -> Option<Frame> {
        let (body, mac) = frame.body.split_last_chunk::<MAC>()?;
        let (length, mac) = (body.len(), blake3::Hash::from_bytes(*mac));
        // The comparison takes constant time.
        if self.mac(frame.kind, body) != mac {
            return None;
        }
        frame.body.truncate(length);
        Some(frame)
    }
}
