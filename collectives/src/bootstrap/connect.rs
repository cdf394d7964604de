//! The other ranks: connecting to rank 0, and waiting until all are there.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::frame::{Frame, FrameReader, encode};
use super::group_state::deadline;
use super::handshake::{self, Hello, Transcript, parse_rejected};
use super::link::Connection;
use super::message::{self, Message};
use super::{Error, RankConfig, Result, Secret};

/// How long one handshake may take.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The addresses of rank 0.
pub(crate) fn resolve(config: &RankConfig) -> io::Result<Vec<SocketAddr>> {
    let host = config.address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host = host.unwrap_or(&config.address);
    let addresses: Vec<_> = (host, config.port).to_socket_addrs()?.collect();
    if addresses.is_empty() {
        return Err(io::Error::new(ErrorKind::NotFound, "the name has no address"));
    }
    Ok(addresses)
}

/// The configured secret, or that of the user if all addresses are loopback addresses.
pub(crate) fn secret_for(config: &RankConfig, addresses: &[SocketAddr]) -> Result<Secret> {
    if let Some(secret) = &config.secret {
        return Ok(secret.clone());
    }
    match addresses.iter().find(|address| !address.ip().to_canonical().is_loopback()) {
        Some(&address) => Err(Error::SecretMissing { address }),
        None => Secret::of_user(),
    }
}

/// Connects to rank 0 and waits until all ranks have done so.
pub(crate) fn join(config: &RankConfig) -> Result<Connection> {
    let until = deadline(config.timeout);
    let mut connection = connect(config, until)?;
    wait_for_start(config, &mut connection, until)?;
    Ok(connection)
}

/// What to do after a failed attempt.
enum Attempt {
    Again(String),
    GiveUp(Error),
}

impl From<Error> for Attempt {
    fn from(error: Error) -> Self {
        Self::GiveUp(error)
    }
}

fn connect(config: &RankConfig, until: Instant) -> Result<Connection> {
    let mut pause = FIRST_PAUSE;
    loop {
        let reason = match attempt(config, until) {
            Ok(connection) => return Ok(connection),
            Err(Attempt::GiveUp(error)) => return Err(error),
            Err(Attempt::Again(reason)) => reason,
        };
        let remaining = until.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            let what = format!(
                "connecting to rank 0 at {} port {} ({reason})",
                config.address, config.port
            );
            let missing = vec![0];
            return Err(Error::Timeout { what, after: config.timeout, missing, rejected: 0 });
        }
        sleep(pause.min(remaining));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Tries every address of rank 0 once.
fn attempt(config: &RankConfig, until: Instant) -> Result<Connection, Attempt> {
    let addresses = resolve(config).map_err(|error| Attempt::Again(error.to_string()))?;
    let secret = secret_for(config, &addresses)?;
    let mut reason = String::new();
    for address in addresses {
        let remaining = until.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, remaining.min(ATTEMPT)) {
            // A connection to a free port of this machine can get that port itself, and then connects to itself.
            Ok(stream) if stream.local_addr().ok() == Some(address) => {
                reason = "nothing listens".into();
            }
            Ok(stream) => match greet(config, &secret, stream, until.min(deadline(HANDSHAKE))) {
                Err(Attempt::Again(why)) => reason = why,
                done => return done,
            },
            Err(error) if may_pass(&error) => reason = error.to_string(),
            Err(error) => Err(Error::io(format!("connecting to rank 0 at {address}"))(error))?,
        }
    }
    Err(Attempt::Again(reason))
}

/// Whether an error of connecting may pass when rank 0's process or machine has started.
fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
            | ErrorKind::AddrInUse
            | ErrorKind::Interrupted
            | ErrorKind::WouldBlock
    )
}

/// The handshake.
fn greet(
    config: &RankConfig,
    secret: &Secret,
    mut stream: TcpStream,
    until: Instant,
) -> Result<Connection, Attempt> {
    let again = |error: io::Error| Attempt::Again(error.to_string());
    stream.set_nodelay(true).map_err(again)?;
    stream.set_write_timeout(Some(HANDSHAKE)).map_err(again)?;
    let mut incoming = FrameReader::default();
    let hello = Hello::new(config.rank, config.world_size)?;
    stream.write_all(&encode(handshake::HELLO, &hello.body())).map_err(again)?;

    let challenge = reply(&mut stream, &mut incoming, handshake::CHALLENGE, until)?;
    let challenge = challenge.try_into().map_err(|_| strange("a challenge of a wrong length"))?;
    let transcript = Transcript { secret, hello, challenge };
    stream.write_all(&encode(handshake::PROOF, &transcript.proof())).map_err(again)?;

    let welcome = reply(&mut stream, &mut incoming, handshake::WELCOME, until)?;
    if !transcript.is_welcome(&welcome) {
        return Err(strange("a wrong proof that it knows the secret"));
    }
    let (send, receive) = transcript.channels();
    Ok(Connection { stream, incoming, send, receive })
}

/// The body of the next frame, which has this kind unless rank 0 rejects this process.
fn reply(
    stream: &mut TcpStream,
    incoming: &mut FrameReader,
    kind: u8,
    until: Instant,
) -> Result<Vec<u8>, Attempt> {
    let again = |reason: &str| Attempt::Again(reason.into());
    let frame = match read_frame(stream, incoming, handshake::MAX_MESSAGE_BYTES, until) {
        Ok(Some(frame)) => frame,
        Ok(None) => return Err(again("it does not answer")),
        Err(Ended::Closed) => return Err(again("it closed the connection")),
        Err(Ended::TooLong) => return Err(strange("a frame that is too long")),
    };
    if frame.kind == handshake::REJECTED {
        let reason = parse_rejected(&frame.body);
        return Err(reason.map_or_else(
            || strange("an unknown rejection"),
            |reason| Error::Rejected { reason }.into(),
        ));
    }
    if frame.kind != kind {
        return Err(strange("something else than this protocol"));
    }
    Ok(frame.body)
}

fn strange(what: &str) -> Attempt {
    Error::protocol(format!("rank 0 sent {what}")).into()
}

/// Why no more frames come.
enum Ended {
    Closed,
    TooLong,
}

/// The next frame. `None` if it does not come in time.
fn read_frame(
    stream: &mut TcpStream,
    incoming: &mut FrameReader,
    longest: usize,
    until: Instant,
) -> Result<Option<Frame>, Ended> {
    loop {
        if let Some(frame) = incoming.next_frame(longest).map_err(|_| Ended::TooLong)? {
            return Ok(Some(frame));
        }
        let remaining = until.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(remaining)).map_err(|_| Ended::Closed)?;
        match incoming.read_from(stream) {
            Ok(Some(0)) | Err(_) => return Err(Ended::Closed),
            Ok(_) => {}
        }
    }
}

/// Waits until all ranks are there.
fn wait_for_start(config: &RankConfig, connection: &mut Connection, until: Instant) -> Result<()> {
    const WHAT: &str = "waiting for all ranks to join";
    let lost = || Error::PeerLost { rank: 0 };
    let mut missing = vec![];
    loop {
        let silent = deadline(config.lost_after);
        let Connection { stream, incoming, receive, .. } = connection;
        let frame =
            match read_frame(stream, incoming, message::MAX_MESSAGE_BYTES, until.min(silent)) {
                Ok(Some(frame)) => frame,
                Ok(None) if Instant::now() < until => return Err(lost()),
                Ok(None) => {
                    let (what, after) = (WHAT.into(), config.timeout);
                    return Err(Error::Timeout { what, after, missing, rejected: 0 });
                }
                Err(_) => return Err(lost()),
            };
        match receive.verify(frame).as_ref().and_then(Message::decode) {
            Some(Message::Start) => return Ok(()),
            Some(Message::Heartbeat) => {}
            Some(Message::Waiting(ranks)) => missing = ranks,
            Some(Message::Failed(failure)) => return Err(failure.error(WHAT, config.timeout)),
            _ => return Err(Error::protocol("rank 0 sent an invalid message before the start")),
        }
    }
}
