//! What a profiling interface has recorded and nobody has taken yet.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Activity;
use crate::Result;

/// The contents of a record that a backend needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)] // all that there is
pub enum ActivityRecord {
    /// The driver call with this correlation id was made in the call with this number.
    Call {
        /// The number that the interface gave the driver call.
        correlation: u64,
        /// The number that [`Activities::enter`](super::Activities::enter) got.
        call: u64,
    },
    /// What the device did for the driver call with this correlation id.
    Activity {
        /// The number that the interface gave the driver call.
        correlation: u64,
        /// The activity. Its call is not known yet.
        activity: Activity,
    },
}

/// The records of a profiling interface, and who uses it. It is the process's: interfaces are, too.
///
/// An interface may pass records on in any order and on any thread, also within the calls of it that begin and end the
/// recording.
#[derive(Debug)]
pub struct ActivityStore {
    /// How many have begun and not ended. Locked while recording begins or ends, unlike the records.
    users: Mutex<usize>,
    records: Mutex<Option<Records>>,
    /// The largest number of activities that are kept until somebody takes them.
    most: usize,
}

#[derive(Debug, Default)]
struct Records {
    /// The number of our call, by correlation id.
    calls: HashMap<u64, u64>,
    /// Activities with their correlation ids. Those of other code have no call of ours, and stay until the end.
    activities: Vec<(u64, Activity)>,
    lost: u64,
}

impl ActivityStore {
    /// A store for at most this many activities.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { users: Mutex::new(0), records: Mutex::new(None), most }
    }

    /// Adds a user. The first one makes the interface record.
    ///
    /// # Errors
    /// That of `start`; then there is no new user.
    pub fn begin(&self, start: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut users = locked(&self.users);
        if *users == 0 {
            start()?;
        }
        *users += 1;
        Ok(())
    }

    /// Removes a user. The last one makes the interface record no longer, and then forgets all records.
    pub fn end(&self, stop: impl FnOnce()) {
        let mut users = locked(&self.users);
        *users = users.saturating_sub(1);
        if *users == 0 {
            stop();
            *locked(&self.records) = None;
        }
    }

    /// Keeps records. Those that are too many are lost.
    pub fn add(&self, added: impl IntoIterator<Item = ActivityRecord>) {
        self.with(|records| {
            for record in added {
                match record {
                    ActivityRecord::Call { correlation, call } => {
                        records.calls.insert(correlation, call);
                    }
                    ActivityRecord::Activity { correlation, activity } => {
                        if records.activities.len() < self.most {
                            records.activities.push((correlation, activity));
                        } else {
                            records.lost += 1;
                        }
                    }
                }
            }
        });
    }

    /// Counts records that the interface did not pass on.
    pub fn lose(&self, count: u64) {
        self.with(|records| records.lost += count);
    }

    /// Returns the number of lost records, and forgets it.
    pub fn take_lost(&self) -> u64 {
        self.with(|records| std::mem::take(&mut records.lost))
    }

    /// How many of these calls have no activity yet. Not all calls will have one.
    pub fn waiting(&self, is_wanted: &dyn Fn(u64) -> bool) -> usize {
        self.with(|records| {
            let known: HashSet<u64> = records.activities.iter().map(|(id, _)| *id).collect();
            let is_waiting = |(id, call): &(&u64, &u64)| is_wanted(**call) && !known.contains(*id);
            records.calls.iter().filter(is_waiting).count()
        })
    }

    /// Returns the activities of some calls, and forgets them.
    pub fn take(&self, is_wanted: &dyn Fn(u64) -> bool) -> Vec<Activity> {
        self.with(|records| {
            let mut taken = Vec::new();
            let calls = &records.calls;
            records.activities.retain(|(correlation, activity)| match calls.get(correlation) {
                Some(&call) if is_wanted(call) => {
                    taken.push(Activity { call, ..*activity });
                    false
                }
                _ => true,
            });
            records.calls.retain(|_, call| !is_wanted(*call));
            taken
        })
    }

    fn with<R>(&self, then: impl FnOnce(&mut Records) -> R) -> R {
        then(locked(&self.records).get_or_insert_default())
    }
}

/// A panic in a callback leaves the numbers as they are, so the lock is used on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Error;

    fn activity(correlation: u64, start: u64) -> ActivityRecord {
        let activity = Activity { call: 0, node: 0, start, end: start + 1 };
        ActivityRecord::Activity { correlation, activity }
    }

    fn call(correlation: u64, call: u64) -> ActivityRecord {
        ActivityRecord::Call { correlation, call }
    }

    fn starts(taken: &[Activity]) -> Vec<(u64, u64)> {
        taken.iter().map(|activity| (activity.call, activity.start)).collect()
    }

    #[test]
    fn activities_belong_to_calls_in_any_order_of_the_records() {
        let store = ActivityStore::new(100);
        store.add([activity(7, 10), call(7, 1), call(8, 2)]);
        store.add([activity(8, 30), activity(7, 20), activity(9, 40), call(10, 3)]);
        assert_eq!(store.waiting(&|_| true), 1, "the call 3");
        assert_eq!(store.waiting(&|call| call < 3), 0);
        assert_eq!(starts(&store.take(&|call| call == 1)), [(1, 10), (1, 20)]);
        assert_eq!(starts(&store.take(&|call| call == 1)), []);
        assert_eq!(starts(&store.take(&|_| true)), [(2, 30)], "not that of other code");
        // The call was taken before its activity came, so this is of nobody.
        store.add([activity(10, 50)]);
        assert_eq!(starts(&store.take(&|_| true)), []);
    }

    #[test]
    fn records_that_are_too_many_are_counted() {
        let store = ActivityStore::new(3);
        store.add((0..5).map(|number| activity(number, 10 + number)));
        store.add((0..5).map(|number| call(number, number)));
        store.lose(4);
        assert_eq!((store.take_lost(), store.take_lost()), (6, 0));
        assert_eq!(store.take(&|_| true).len(), 3);
        store.add([activity(9, 10), call(9, 9)]);
        assert_eq!((store.take(&|_| true).len(), store.take_lost()), (1, 0));
    }

    #[test]
    fn the_first_user_starts_and_the_last_one_stops() {
        let store = ActivityStore::new(3);
        let (started, stopped) = (Cell::new(0), Cell::new(0));
        let begin = || {
            store.begin(|| {
                started.set(started.get() + 1);
                // An interface may pass records on at once.
                store.add([activity(1, 10), call(1, 1)]);
                Ok(())
            })
        };
        let end = || {
            store.end(|| {
                stopped.set(stopped.get() + 1);
                store.add([activity(2, 20)]);
            });
        };
        let refused = || Err(Error::InvalidArgument { what: "not today".to_owned() });
        assert!(store.begin(refused).is_err());
        begin().expect("it starts");
        begin().expect("it has started");
        end();
        assert_eq!((started.get(), stopped.get()), (1, 0));
        assert_eq!(store.take(&|_| true).len(), 1);
        end();
        assert_eq!((started.get(), stopped.get()), (1, 1));
        store.add([call(2, 2)]);
        assert_eq!(starts(&store.take(&|_| true)), [], "what came before the end is forgotten");
    }
}
