//! Calls of communicators as the processes of a run send them.

use super::handshake::split_u32;
use crate::{
    call::{CallKind, CollectiveCall, GroupPosition},
    call_matching::Mismatch,
    element::{DataType, Reduction},
};

/// The number of bytes of a call.
pub(crate) const CALL: usize = 23;

/// By their numbers in the interface of NCCL.
const REDUCTIONS: [Reduction; 5] =
    [Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min, Reduction::Mean];

/// By their numbers in the interface of NCCL.
const DATA_TYPES: [DataType; 9] = [
    DataType::I8,
    DataType::U8,
    DataType::I32,
    DataType::U32,
    DataType::I64,
    DataType::U64,
    DataType::F16,
    DataType::F32,
    DataType::F64,
];

impl CollectiveCall {
    /// The kind, the reduction and the type, a byte each; the root or the other rank, the number of elements and the
    /// position in the group, little endian. What a kind does not have is 0.
    pub(crate) fn to_bytes(self) -> [u8; CALL] {
        let kind = match self.kind {
            CallKind::AllReduce(_) => 0,
            CallKind::Reduce { .. } => 1,
            CallKind::Broadcast { .. } => 2,
            CallKind::AllGather => 3,
            CallKind::ReduceScatter(_) => 4,
            CallKind::Send { .. } => 5,
            CallKind::Receive { .. } => 6,
        };
        let reduction = self.reduction().map_or(0, |reduction| reduction as u8);
        let GroupPosition { index, of } = self.group_position;
        let mut bytes = [0; CALL];
        bytes[..3].copy_from_slice(&[kind, reduction, self.data_type as u8]);
        bytes[3..7].copy_from_slice(&(self.peer().unwrap_or(0) as u32).to_le_bytes());
        bytes[7..15].copy_from_slice(&(self.count as u64).to_le_bytes());
        bytes[15..19].copy_from_slice(&index.to_le_bytes());
        bytes[19..].copy_from_slice(&of.to_le_bytes());
        bytes
    }

    /// `None` if it is no call.
    pub(crate) fn from_bytes(bytes: &[u8; CALL]) -> Option<Self> {
        let [kind, reduction, data_type, rest @ ..] = bytes;
        let (peer, rest) = split_u32(rest)?;
        let (count, rest) = rest.split_first_chunk()?;
        let (index, rest) = split_u32(rest)?;
        let (of, _) = split_u32(rest)?;
        let (reduction, peer) = (*REDUCTIONS.get(usize::from(*reduction))?, peer as usize);
        let kind = match kind {
            0 => CallKind::AllReduce(reduction),
            1 => CallKind::Reduce { reduction, root: peer },
            2 => CallKind::Broadcast { root: peer },
            3 => CallKind::AllGather,
            4 => CallKind::ReduceScatter(reduction),
            5 => CallKind::Send { to: peer },
            6 => CallKind::Receive { from: peer },
            _ => return None,
        };
        let count = u64::from_le_bytes(*count).try_into().ok()?;
        let data_type = *DATA_TYPES.get(usize::from(*data_type))?;
        Some(Self { kind, count, data_type, group_position: GroupPosition { index, of } })
    }
}

/// The ranks, the number and the calls of a mismatch.
pub(crate) fn encode_mismatch(mismatch: &Mismatch) -> Vec<u8> {
    let Mismatch { rank, call, other, other_call, number } = mismatch;
    let ranks = [*rank as u32, *other as u32].map(u32::to_le_bytes);
    [ranks.as_flattened(), &number.to_le_bytes(), &call.to_bytes(), &other_call.to_bytes()].concat()
}

/// `None` if it is no mismatch.
pub(crate) fn decode_mismatch(body: &[u8]) -> Option<Mismatch> {
    let (rank, body) = split_u32(body)?;
    let (other, body) = split_u32(body)?;
    let (number, body) = body.split_first_chunk()?;
    let (call, body) = body.split_first_chunk()?;
    Some(Mismatch {
        rank: rank as usize,
        call: CollectiveCall::from_bytes(call)?,
        other: other as usize,
        other_call: CollectiveCall::from_bytes(body.try_into().ok()?)?,
        number: u64::from_le_bytes(*number),
    })
}
