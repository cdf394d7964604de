//! Authenticated connections.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::frame::{FrameReader, MacChannel};
use super::message::{self, Message};

/// A connection after the handshake.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) incoming: FrameReader,
    pub(crate) send: MacChannel,
    pub(crate) receive: MacChannel,
}

impl Connection {
    pub(crate) fn send(&mut self, message: &Message) -> io::Result<()> {
        let (kind, body) = message.encode();
        self.stream.write_all(&self.send.authenticate(kind, &body))
    }

    /// Splits it into a half for sending and one for receiving. A call of either takes at most its duration.
    pub(crate) fn split(
        self,
        peer: usize,
        write: Duration,
        read: Duration,
    ) -> io::Result<(Link, Receiver)> {
        let Self { stream, incoming, send, receive } = self;
        stream.set_write_timeout(Some(write))?;
        stream.set_read_timeout(Some(read))?;
        let receiver = Receiver { stream: stream.try_clone()?, incoming, channel: receive };
        Ok((
            Link { peer, sender: Mutex::new(Sender { stream, channel: send, finished: false }) },
            receiver,
        ))
    }
}

/// The half for sending, which threads share.
pub(crate) struct Link {
    /// The rank at the other end.
    pub(crate) peer: usize,
    sender: Mutex<Sender>,
}

struct Sender {
    stream: TcpStream,
    channel: MacChannel,
    /// Nothing more is sent.
    finished: bool,
}

impl Link {
    fn sender(&self) -> MutexGuard<'_, Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message, unless the link is finished. If that fails, the connection is closed, and the receiver finds
    /// out.
    pub(crate) fn send(&self, message: &Message) {
        self.sender().send(message);
    }

    /// Sends a last message, and tells the other end that nothing more comes.
    pub(crate) fn finish(&self, last: Option<&Message>) {
        let mut sender = self.sender();
        if let Some(message) = last {
            sender.send(message);
        }
        if !std::mem::replace(&mut sender.finished, true) {
            let _ = sender.stream.shutdown(Shutdown::Write);
        }
    }

    /// Closes the connection in both directions.
    pub(crate) fn cut(&self) {
        let _ = self.sender().stream.shutdown(Shutdown::Both);
    }
}

impl Sender {
    fn send(&mut self, message: &Message) {
        if self.finished {
            return;
        }
        let (kind, body) = message.encode();
        let bytes = self.channel.authenticate(kind, &body);
        if self.stream.write_all(&bytes).is_err() {
            self.finished = true;
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// The half for receiving.
pub(crate) struct Receiver {
    stream: TcpStream,
    incoming: FrameReader,
    channel: MacChannel,
}

/// What a receiver got.
pub(crate) enum Received {
    Message(Message),
    /// Nothing came in time.
    Nothing,
    /// The connection is closed, or what came is not authentic.
    End,
}

impl Receiver {
    pub(crate) fn receive(&mut self) -> Received {
        // The second round takes the frame that the read completed.
        for read in [true, false] {
            match self.incoming.next_frame(message::MAX_MESSAGE_BYTES) {
                Ok(None) => {}
                Ok(Some(frame)) => {
                    let message = self.channel.verify(frame).as_ref().and_then(Message::decode);
                    return message.map_or(Received::End, Received::Message);
                }
                Err(_) => return Received::End,
            }
            if read {
                match self.incoming.read_from(&mut self.stream) {
                    Ok(Some(0)) | Err(_) => return Received::End,
                    Ok(_) => {}
                }
            }
        }
        Received::Nothing
    }
}
