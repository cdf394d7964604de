//! Does the work of operations.

use super::WorldState;
use crate::{launch::ExecutionError, memory::AccessKind, op::Work, schedule::Schedule};

impl WorldState {
    pub(crate) fn execute(&mut self, work: &Work) -> Result<(), ExecutionError> {
        let shuffled = matches!(self.schedule, Schedule::Random | Schedule::Adversarial);
        let random = shuffled.then_some(&mut self.random);
        match work {
            Work::Marker => {}
            Work::Launch(launch) => launch.run(&mut self.memory, random)?,
            Work::Copy { dst, src, rows } => {
                for (to, from) in rows.each() {
                    self.memory.copy(*dst + to as u64, *src + from as u64, rows.width)?;
                }
            }
            Work::Upload { dst, data, rows } => {
                for (to, from) in rows.dense_source().each() {
                    self.memory.write(*dst + to as u64, &data[from..][..rows.width])?;
                }
            }
            Work::Fill { dst, pattern, width, bytes } => {
                self.memory.fill(*dst, &pattern.to_le_bytes()[..*width], *bytes)?;
            }
            Work::PeerRead { src, bytes, parcel } => parcel.fill(self.memory.take(*src, *bytes)?),
            Work::PeerWrite { dst, parcel, .. } => {
                // None where the source's context was lost, which its own calls report.
                if let Some(payload) = parcel.open() {
                    self.memory.put(*dst, &payload)?;
                }
            }
            Work::Collective(part) => part.run(&mut self.memory)?,
            Work::Allocate { base, bytes, origin } => {
                if let Some(block) = self.memory.block_mut(*base) {
                    block.begin(*bytes, *origin);
                }
                self.memory.touch_whole(*base, AccessKind::Alloc);
            }
            Work::Free { base, origin } => {
                if let Some(block) = self.memory.block_mut(*base) {
                    block.end(*origin);
                }
                self.memory.touch_whole(*base, AccessKind::Free);
            }
        }
        Ok(())
    }
}
