//! Faults: driver calls that fail or are ignored on demand.

use crate::code::Code;

/// What happens to a call instead of its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// It returns this code and does nothing.
    Fail(Code),
    /// It reports success and does nothing.
    Ignore,
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Vec<Fault>,
}

#[derive(Debug)]
struct Fault {
    call: &'static str,
    /// Calls to let through first.
    skip: u64,
    action: Action,
}

impl Faults {
    /// Arms a fault for the `nth` call of a function from now on; the first is 1.
    pub(crate) fn arm(&mut self, call: &'static str, nth: u64, action: Action) {
        self.armed.push(Fault { call, skip: nth.saturating_sub(1), action });
    }

    /// How many have not struck yet.
    pub(crate) fn armed(&self) -> usize {
        self.armed.len()
    }

    /// What strikes this call. Each fault strikes once.
    pub(crate) fn strike(&mut self, call: &str) -> Option<Action> {
        let mut struck = None;
        self.armed.retain_mut(|fault| {
            if fault.call != call {
                return true;
            }
            if fault.skip == 0 && struck.is_none() {
                struck = Some(fault.action);
                return false;
            }
            fault.skip = fault.skip.saturating_sub(1);
            true
        });
        struck
    }
}
