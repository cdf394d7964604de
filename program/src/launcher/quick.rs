//! The launch as it mostly is: one call of the driver, of a kernel that was launched with the same numbers before, by a
//! program that does not look for hazards. It makes no decision that another place does not make too: where
//! anything is not as usual, nothing has happened, and the launch is made at length.

use std::{mem, sync::atomic::Ordering::Relaxed};

use quadrants_ir::abi::{FIRST_PARAM_WORD, Form};
use quadrants_rhi as rhi;

use super::{Checks, KernelContext, KernelLauncher, TensorParam, launch_error, launch_word};
use crate::{
    Error, Result,
    arg::{ArgList, TensorArg},
    def::KernelDef,
    program::Shared,
    stream::StreamState,
};

/// Stamps the tensors of a launch behind it, also where the device panics: as `StampedAtEnd`, but in registers.
struct Stamped<'a> {
    params: &'a [TensorParam],
    tensors: &'a [TensorArg<'a>],
    stream: &'a StreamState,
}

impl Drop for Stamped<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        stamp_after_panic(self.params, self.tensors, self.stream);
    }
}

#[cold]
#[inline(never)]
fn stamp_after_panic(params: &[TensorParam], tensors: &[TensorArg<'_>], stream: &StreamState) {
    stamp(params, tensors, stream);
}

#[inline(always)]
fn stamp(params: &[TensorParam], tensors: &[TensorArg<'_>], stream: &StreamState) {
    let stamp = stream.stream.next_stamp();
    for (tensor, param) in tensors.iter().zip(params) {
        let Some(core) = tensor.core() else { continue };
        core.buffer.stamp(stamp, param.writable);
    }
}

impl KernelLauncher {
    /// Launches a kernel that has no value, on arguments in the program's memory; false where this is not the place to
    /// do it.
    ///
    /// # Errors
    /// What the device returns. Boxed, so that the result is in registers.
    #[inline(never)]
    pub(crate) fn quick(
        &self,
        shared: &Shared,
        def: &KernelDef,
        args: &mut ArgList<'_>,
        stream: &StreamState,
        checks: Checks,
    ) -> Result<bool, Box<Error>> {
        let mut found = || {
            let id = def.known_id()?;
            let context = self.contexts.get(id)?;
            let (codes, tensors) = (args.codes.in_place()?, args.tensors.in_place()?);
            let usual = context.plain
                && shared.hazards.is_none()
                && !shared.context.is_lost()
                && !stream.has_report()
                && context.takes(codes)
                && !shared.turns.are_due(tensors);
            if !usual {
                return None;
            }
            // Room for what all launches have in front.
            args.begin();
            let (of_stream, host) = (stream.stream.id(), &context.host);
            let loaded = |form| context.forms[form as usize].loaded.get()?.only();
            let verdict =
                context.verdicts.only(of_stream, host, checks, &mut args.words, loaded)?;
            Some((id, context, verdict))
        };
        let Some((id, context, (form, config, function))) = found() else { return Ok(false) };

        let number = shared.launches.fetch_add(1, Relaxed);
        let named = form == Form::Checked || context.reports_when_proven;
        let words = &mut args.words[..];
        if let Some(head) = words.first_chunk_mut::<FIRST_PARAM_WORD>() {
            // Where nothing names the launch, all launches with the same arguments have the same block.
            let word = launch_word(id, if named { number } else { 0 });
            *head = [stream.record_address(), 0, word];
        }
        let (params, tensors) = (&*context.tensors, &*args.tensors);
        let behind = Stamped { params, tensors, stream };
        // SAFETY: as in `Enqueue::launch`.
        let launched = unsafe {
            shared.context.device().launch(function, &config, words, stream.stream.handle())
        };
        mem::forget(behind);
        stamp(params, tensors, stream);
        match launched {
            Err(error) => Err(failed(shared, context, error)),
            Ok(()) if context.reports_at_once => stream.check().map(|()| true).map_err(Box::new),
            Ok(()) => Ok(true),
        }
    }
}

#[cold]
#[inline(never)]
fn failed(shared: &Shared, context: &KernelContext, error: rhi::Error) -> Box<Error> {
    Box::new(launch_error(&context.kernel, false, shared.context.failed(error)))
}
