//! Rank 0 until all ranks are there: it accepts connections, checks who they are, and keeps one for each rank.
//!
//! One thread serves all connections without blocking, so that a slow or silent one delays no other.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::connect::{HANDSHAKE, resolve, secret_for};
use super::frame::{FrameReader, encode};
use super::handshake::{self, Hello, Nonce, Transcript, VERSION, rejected_body};
use super::link::Connection;
use super::message::{Message, OperationFailure};
use super::{Error, RankConfig, Rejection, Result, Secret};

/// Connections in the handshake: one for each rank and so many more. Beyond that, the oldest one is closed.
const MORE_CONNECTIONS: usize = 64;
/// How often the connections of accepted ranks are looked at, which costs a system call for each.
const CHECK: Duration = Duration::from_millis(50);
/// How often waiting ranks hear which ranks are missing.
pub(crate) const NOTICE: Duration = Duration::from_millis(250);

/// Listens on the configured address, and gets the secret.
pub(crate) fn listen(config: &RankConfig, until: Instant) -> Result<(TcpListener, Secret)> {
    let fail = |source| Error::Listen {
        address: config.address.clone(),
        port: config.port,
        source: Arc::new(source),
    };
    let addresses = loop {
        match resolve(config) {
            Ok(addresses) => break addresses,
            Err(error) if Instant::now() >= until => return Err(fail(error)),
            Err(_) => sleep(NOTICE),
        }
    };
    let secret = secret_for(config, &addresses)?;
    Ok((TcpListener::bind(&addresses[..]).map_err(fail)?, secret))
}

/// Waits for all ranks. Returns their connections, from rank 1, and the number of rejected connections.
pub(crate) fn gather(
    listener: &TcpListener,
    config: &RankConfig,
    secret: &Secret,
    until: Instant,
) -> Result<(Vec<Connection>, u64)> {
    let nonblocking = listener.set_nonblocking(true);
    nonblocking.map_err(Error::io("making the listening socket non-blocking"))?;
    let members = (1..config.world_size).map(|_| None).collect();
    let mut gathering =
        Gathering { config, secret, pending: VecDeque::new(), members, rejected: 0 };
    let (mut checked, mut noticed) = (Instant::now(), Instant::now());
    loop {
        gathering.accept(listener);
        gathering.advance();
        if checked.elapsed() >= CHECK || gathering.missing().is_empty() {
            gathering.forget_closed();
            checked = Instant::now();
        }
        let missing = gathering.missing();
        if missing.is_empty() {
            return gathering.start();
        }
        if Instant::now() >= until {
            gathering.tell(&Message::Failed(OperationFailure::Timeout(missing.clone())));
            let what = "waiting for all ranks to join".into();
            let rejected = gathering.rejected;
            return Err(Error::Timeout { what, after: config.timeout, missing, rejected });
        }
        if noticed.elapsed() >= NOTICE {
            gathering.tell(&Message::Waiting(missing));
            noticed = Instant::now();
        }
        sleep(Duration::from_millis(1));
    }
}

struct Gathering<'a> {
    config: &'a RankConfig,
    secret: &'a Secret,
    pending: VecDeque<HandshakingConnection>,
    /// By rank, from 1.
    members: Vec<Option<Connection>>,
    rejected: u64,
}

/// A connection in the handshake.
struct HandshakingConnection {
    stream: TcpStream,
    incoming: FrameReader,
    until: Instant,
    /// The hello, and this side's nonce.
    greeted: Option<(Hello, Nonce)>,
}

/// How far a handshake is.
enum HandshakeProgress {
    Wait,
    /// Close without a reply: the peer is gone, uses another protocol or is too slow.
    Close,
    Reject(Rejection),
    Proven(Hello, Nonce),
}

impl Gathering<'_> {
    fn accept(&mut self, listener: &TcpListener) {
        // Other errors are those of one connection, or of a lack of resources that may pass.
        for _ in 0..MORE_CONNECTIONS {
            let Ok((stream, _)) = listener.accept() else { return };
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                self.rejected += 1;
                continue;
            }
            if self.pending.len() >= self.config.world_size + MORE_CONNECTIONS {
                self.pending.pop_front();
                self.rejected += 1;
            }
            self.pending.push_back(HandshakingConnection {
                stream,
                incoming: FrameReader::default(),
                until: Instant::now() + HANDSHAKE,
                greeted: None,
            });
        }
    }

    /// Advances every handshake.
    fn advance(&mut self) {
        for _ in 0..self.pending.len() {
            let Some(mut pending) = self.pending.pop_front() else { return };
            match pending.advance(self.secret) {
                HandshakeProgress::Wait => self.pending.push_back(pending),
                HandshakeProgress::Close => self.rejected += 1,
                HandshakeProgress::Reject(reason) => self.reject(pending, reason),
                HandshakeProgress::Proven(hello, challenge) => {
                    self.admit(pending, hello, challenge)
                }
            }
        }
    }

    fn reject(&mut self, mut pending: HandshakingConnection, reason: Rejection) {
        self.rejected += 1;
        // It is closed in any case.
        let _ = pending.stream.write_all(&encode(handshake::REJECTED, &rejected_body(reason)));
    }

    /// Makes a peer that knows the secret the member of its rank, if it has a free one.
    fn admit(&mut self, mut pending: HandshakingConnection, hello: Hello, challenge: Nonce) {
        let world_size = self.config.world_size as u32;
        if hello.world_size != world_size {
            return self.reject(pending, Rejection::WorldSize { expected: world_size });
        }
        if hello.rank >= world_size {
            return self.reject(pending, Rejection::RankOutOfRange { world_size });
        }
        // A process that died before all were there may have been started again.
        self.forget_closed();
        let slot = (hello.rank as usize).checked_sub(1).and_then(|at| self.members.get_mut(at));
        let Some(slot @ None) = slot else {
            return self.reject(pending, Rejection::DuplicateRank { rank: hello.rank });
        };
        let transcript = Transcript { secret: self.secret, hello, challenge };
        let welcome = encode(handshake::WELCOME, &transcript.welcome());
        if pending.stream.write_all(&welcome).is_err() {
            self.rejected += 1;
            return;
        }
        let (receive, send) = transcript.channels();
        let HandshakingConnection { stream, incoming, .. } = pending;
        *slot = Some(Connection { stream, incoming, send, receive });
    }

    fn missing(&self) -> Vec<usize> {
        let absent = self.members.iter().enumerate().filter(|(_, member)| member.is_none());
        absent.map(|(at, _)| at + 1).collect()
    }

    /// Frees the ranks whose connections are closed. Members send nothing before the start.
    fn forget_closed(&mut self) {
        for slot in &mut self.members {
            let Some(member) = slot else { continue };
            if !matches!(member.incoming.read_from(&mut member.stream), Ok(None)) {
                *slot = None;
            }
        }
    }

    /// Sends a message to all members, and frees the ranks that cannot be reached.
    fn tell(&mut self, message: &Message) {
        for slot in &mut self.members {
            if slot.as_mut().is_some_and(|member| member.send(message).is_err()) {
                *slot = None;
            }
        }
    }

    fn start(self) -> Result<(Vec<Connection>, u64)> {
        let mut members: Vec<_> = self.members.into_iter().flatten().collect();
        for member in &mut members {
            let blocking = member.stream.set_nonblocking(false);
            blocking.map_err(Error::io("making a connection blocking"))?;
        }
        for member in &mut members {
            // If this fails, the group finds that the connection is closed.
            let _ = member.send(&Message::Start);
        }
        Ok((members, self.rejected + self.pending.len() as u64))
    }
}

impl HandshakingConnection {
    fn advance(&mut self, secret: &Secret) -> HandshakeProgress {
        if Instant::now() >= self.until {
            return HandshakeProgress::Close;
        }
        match self.incoming.read_from(&mut self.stream) {
            Ok(Some(0)) | Err(_) => return HandshakeProgress::Close,
            Ok(_) => {}
        }
        let frame = match self.incoming.next_frame(handshake::MAX_MESSAGE_BYTES) {
            Ok(Some(frame)) => frame,
            Ok(None) => return HandshakeProgress::Wait,
            Err(_) => return HandshakeProgress::Close,
        };
        if let Some((hello, challenge)) = self.greeted {
            let transcript = Transcript { secret, hello, challenge };
            return match frame.kind {
                handshake::PROOF if transcript.is_proof(&frame.body) => {
                    HandshakeProgress::Proven(hello, challenge)
                }
                handshake::PROOF => HandshakeProgress::Reject(Rejection::Secret),
                _ => HandshakeProgress::Close,
            };
        }
        let Some(hello) = Hello::parse(&frame) else { return HandshakeProgress::Close };
        if hello.version != VERSION {
            return HandshakeProgress::Reject(Rejection::Version { supported: VERSION });
        }
        self.challenge(hello).map_or(HandshakeProgress::Close, |()| HandshakeProgress::Wait)
    }

    fn challenge(&mut self, hello: Hello) -> io::Result<()> {
        let nonce = handshake::nonce().map_err(io::Error::other)?;
        self.greeted = Some((hello, nonce));
        self.stream.write_all(&encode(handshake::CHALLENGE, &nonce))
    }
}
