//! The operations that a call consists of in its rank's world.

use super::{
    arithmetic::{DataType, ReduceOp},
    blocker::Blocker,
    matched_call::RankCall,
};
use crate::{
    launch::ExecutionError,
    memory::{Memory, Payload},
    remote::Remote,
};

/// The work of an operation of a call.
#[derive(Debug)]
pub(crate) enum CallPart {
    /// The calls of a group are reached in their streams.
    Start(Vec<RankCall>),
    /// Reads the send buffer after the starts of all ranks.
    Read { call: RankCall, src: u64, bytes: usize },
    /// Writes the receive buffer after the reads of all ranks.
    Write { call: RankCall, dst: u64, bytes: usize, result: ReceivedData },
}

/// What a rank receives, made of what all ranks send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReceivedData {
    /// What the rank at this position sends.
    Copy(usize),
    /// What all send, one after another.
    Concatenation,
    /// The reduction of the bytes from this position on.
    Reduction { data_type: DataType, op: ReduceOp, from: usize },
}

impl CallPart {
    /// What it still waits for in other worlds.
    pub(crate) fn blocker(&self) -> Option<Blocker> {
        match self {
            Self::Start(_) => None,
            Self::Read { call, .. } => call.before_read(),
            Self::Write { call, .. } => call.before_write(),
        }
    }

    /// The operations of all ranks that it came after.
    pub(crate) fn peer_ops(&self) -> Vec<Remote> {
        match self {
            Self::Start(_) => Vec::new(),
            Self::Read { call, .. } => call.starts(),
            Self::Write { call, .. } => call.reads(),
        }
    }

    /// The memory that it accesses, and whether it writes it.
    pub(crate) fn access(&self) -> Option<(u64, usize, bool)> {
        match self {
            Self::Start(_) => None,
            Self::Read { src, bytes, .. } => Some((*src, *bytes, false)),
            Self::Write { dst, bytes, .. } => Some((*dst, *bytes, true)),
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Start(_) => "start of a call of a communicator".to_owned(),
            Self::Read { src, bytes, .. } => format!("send of {bytes} bytes at {src:#x}"),
            Self::Write { dst, bytes, .. } => format!("receive of {bytes} bytes at {dst:#x}"),
        }
    }

    pub(crate) fn run(&self, memory: &mut Memory) -> Result<(), ExecutionError> {
        match self {
            Self::Start(calls) => {
                calls.iter().filter(|call| !call.rank().is_aborted()).for_each(RankCall::start);
            }
            Self::Read { call, src, bytes } => {
                if !call.rank().is_aborted() {
                    call.send(memory.take(*src, *bytes)?);
                }
            }
            Self::Write { call, dst, bytes, result } => {
                let received = match call.rank().is_aborted() {
                    true => None,
                    false => result.of(call.sent(), *bytes),
                };
                match received {
                    Some(payload) => memory.put(*dst, &payload)?,
                    // The memory may be freed already: the program does not expect an access any more.
                    None => drop(memory.undefine(*dst, *bytes)),
                }
            }
        }
        Ok(())
    }
}

impl ReceivedData {
    /// The received bytes. `None` if something that they are made of is missing.
    fn of(self, mut sent: Vec<Option<Payload>>, bytes: usize) -> Option<Payload> {
        match self {
            Self::Copy(rank) => sent.get_mut(rank)?.take(),
            Self::Concatenation => {
                let (mut data, mut undefined) = (Vec::with_capacity(bytes), Vec::new());
                for payload in sent {
                    let payload = payload?;
                    undefined.extend(payload.undefined.iter().map(|at| data.len() + at));
                    data.extend_from_slice(&payload.data);
                }
                Some(Payload { data: data.into(), undefined })
            }
            Self::Reduction { data_type, op, from } => {
                let part = |payload: Option<Payload>| {
                    let payload = payload?;
                    let range = from..from + bytes;
                    let undefined = payload.undefined.iter().filter(|at| range.contains(at));
                    let undefined = undefined.map(|at| at - from).collect();
                    Some(Payload { data: payload.data.get(range.clone())?.into(), undefined })
                };
                let parts: Vec<Payload> = sent.into_iter().map(part).collect::<Option<_>>()?;
                Some(data_type.reduce(op, &parts))
            }
        }
    }
}
