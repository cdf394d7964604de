//! What kernels report: device errors and messages.

use super::memory::{ExecFault, Memory};
use crate::abi::{ERROR_WORD, ErrorRecord, LAUNCH_WORD, Message, MessageBuffer};

/// Writes a message to the message buffer of the error record, as [`MessageBuffer`] says.
#[cold]
#[inline(never)]
pub(super) fn print_message<M: Memory>(
    regs: &[u64],
    memory: &mut M,
    site: u32,
    values: &[u64],
) -> Result<(), ExecFault> {
    let record = regs[ERROR_WORD];
    if record == 0 {
        return Ok(());
    }
    let buffer = memory.load(record + std::mem::offset_of!(ErrorRecord, messages) as u64, 8)?;
    if buffer == 0 {
        return Ok(());
    }
    let counter = memory.load(buffer + std::mem::offset_of!(MessageBuffer, counter) as u64, 8)?;
    let printed = memory.load(buffer + std::mem::offset_of!(MessageBuffer, printed) as u64, 8)?;
    let number = memory.load(counter, 8)?;
    memory.store(counter, 8, number.wrapping_add(1))?;
    if number.wrapping_sub(printed) >= MessageBuffer::MESSAGES as u64 {
        return Ok(());
    }
    let at = buffer + MessageBuffer::message_offset(number) as u64;
    let field = |offset: usize| at + offset as u64;
    memory.store(field(std::mem::offset_of!(Message, launch)), 8, regs[LAUNCH_WORD])?;
    memory.store(field(std::mem::offset_of!(Message, site)), 8, u64::from(site))?;
    memory.store(field(std::mem::offset_of!(Message, next)), 8, number.wrapping_add(1))?;
    for (nth, value) in values.iter().enumerate() {
        memory.store(field(std::mem::offset_of!(Message, values) + 8 * nth), 8, *value)?;
    }
    memory.store(field(std::mem::offset_of!(Message, number)), 8, number.wrapping_add(1))
}

/// Fills the error record, unless it already holds an error or there is none.
#[cold]
#[inline(never)]
pub(super) fn report<M: Memory>(
    regs: &[u64],
    memory: &mut M,
    task: u32,
    site: u32,
    values: &[u64],
) -> Result<(), ExecFault> {
    let at = regs[ERROR_WORD];
    let field = |offset: usize| at.wrapping_add(offset as u64);
    if at == 0 || memory.load(at, 4)? != u64::from(ErrorRecord::EMPTY) {
        return Ok(());
    }
    memory.store(at, 4, u64::from(ErrorRecord::CLAIMED))?;
    memory.store(field(std::mem::offset_of!(ErrorRecord, site)), 4, u64::from(site))?;
    memory.store(field(std::mem::offset_of!(ErrorRecord, launch)), 8, regs[LAUNCH_WORD])?;
    memory.store(field(std::mem::offset_of!(ErrorRecord, task)), 4, u64::from(task))?;
    let count = values.len() as u64;
    memory.store(field(std::mem::offset_of!(ErrorRecord, count)), 4, count)?;
    for (i, value) in values.iter().enumerate() {
        let offset = std::mem::offset_of!(ErrorRecord, values) + 8 * i;
        memory.store(field(offset), 8, *value)?;
    }
    memory.store(at, 4, u64::from(ErrorRecord::FULL))
}
