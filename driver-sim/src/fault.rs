//! Faults: driver calls that fail or do nothing on demand.

use std::{borrow::Cow, env, sync::OnceLock};

use crate::{code::Code, random::Random};

/// The effect of a fault on a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// The call returns this code and does nothing.
    Fail(Code),
    /// The call returns success and does nothing.
    Ignore,
    /// The device is lost: this call and all later ones return this code.
    Lose(Code),
}

/// The calls that a fault affects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum FaultTrigger {
    /// One call, after this many others.
    After(u64),
    /// Each call with this probability.
    Often(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// The function; `None` for any.
    call: Option<Cow<'static, str>>,
    when: FaultTrigger,
    action: Action,
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The faults that have not occurred yet.
    pub(crate) armed: Vec<Fault>,
    /// A generator of its own, so that faults with a probability do not change the schedule.
    random: Random,
}

const SALT: u64 = 0xfa17;

impl Faults {
    /// The faults of the environment variable `QUADRANTS_SIM_FAULTS`.
    pub(crate) fn new(seed: u64) -> Self {
        static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
        let faults = FAULTS.get_or_init(|| match env::var("QUADRANTS_SIM_FAULTS") {
            Ok(text) => parse(&text).unwrap_or_else(|wrong| {
                eprintln!(
                    "quadrants simulator: `{wrong}` in QUADRANTS_SIM_FAULTS is not a fault; write \
                     `function@nth=code` or `function%probability=code`"
                );
                Vec::new()
            }),
            Err(_) => Vec::new(),
        });
        Self { armed: faults.clone(), random: Random::new(seed ^ SALT) }
    }

    pub(crate) fn arm(&mut self, call: Option<&'static str>, when: FaultTrigger, action: Action) {
        self.armed.push(Fault { call: call.map(Cow::Borrowed), when, action });
    }

    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.random = Random::new(seed ^ SALT);
    }

    /// The effect on this call. A fault of one call occurs once.
    pub(crate) fn apply(&mut self, call: &str) -> Option<Action> {
        let Self { armed, random } = self;
        let mut struck = None;
        armed.retain_mut(|fault| {
            if fault.call.as_ref().is_some_and(|name| name != call) {
                return true;
            }
            match &mut fault.when {
                FaultTrigger::After(0) if struck.is_none() => {
                    struck = Some(fault.action);
                    return false;
                }
                FaultTrigger::After(skip) => *skip = skip.saturating_sub(1),
                FaultTrigger::Often(probability) => {
                    if (random.next() >> 11) as f64 / ((1u64 << 53) as f64) < *probability {
                        struck.get_or_insert(fault.action);
                    }
                }
            }
            true
        });
        struck
    }
}

/// Parses `function@nth=code` and `function%probability=code`, separated by commas. `*` is any function. Code 0 makes
/// the call do nothing.
fn parse(text: &str) -> Result<Vec<Fault>, &str> {
    let one = |item: &str| -> Option<Fault> {
        let (what, code) = item.rsplit_once('=')?;
        let action = match code.trim().parse().ok()? {
            0 => Action::Ignore,
            code => Action::Fail(Code(code)),
        };
        let (call, when) = match what.split_once('%') {
            Some((call, probability)) => (call, FaultTrigger::Often(probability.parse().ok()?)),
            None => {
                let (call, nth) = what.split_once('@')?;
                (call, FaultTrigger::After(nth.parse::<u64>().ok()?.checked_sub(1)?))
            }
        };
        let call = (call != "*").then(|| Cow::Owned(call.to_owned()));
        Some(Fault { call, when, action })
    };
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| one(item).ok_or(item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_text() {
        let faults = parse("cuMemAlloc_v2@3=2, *%0.25=999,cuStreamWaitEvent@1=0,").unwrap();
        let [alloc, any, wait] = &faults[..] else { panic!("{faults:?}") };
        assert_eq!(alloc.call.as_deref(), Some("cuMemAlloc_v2"));
        assert_eq!((alloc.when, alloc.action), (FaultTrigger::After(2), Action::Fail(Code(2))));
        assert_eq!((&any.call, any.when), (&None, FaultTrigger::Often(0.25)));
        assert_eq!(wait.action, Action::Ignore);
        for wrong in ["cuMemAlloc_v2", "cuMemAlloc_v2@0=1", "cuMemAlloc_v2@x=1", "a%b=1", "a@1=b"] {
            assert_eq!(parse(wrong).unwrap_err(), wrong);
        }
    }

    #[test]
    fn mutated_faults_are_read_or_named() {
        const PIECES: [&str; 14] = [
            "cuMemAlloc_v2",
            "*",
            "@",
            "%",
            "=",
            ",",
            " ",
            "0",
            "1",
            "-1",
            "1e400",
            "NaN",
            "18446744073709551616",
            "\u{e9}",
        ];
        let mut random = Random::new(5);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let count = random.below(8);
            let text: String = (0..count).filter_map(|_| random.pick(&PIECES).copied()).collect();
            match parse(&text) {
                Ok(faults) => read += faults.len(),
                Err(wrong) => {
                    assert!(!wrong.is_empty() && text.contains(wrong), "{wrong} in {text}");
                    refused += 1;
                }
            }
        }
        assert!(read > 5 && refused > 1000, "{read} {refused}");
    }
}
