//! The owners of foreign memory: kept until the last use of the memory is complete, and dropped then.
//!
//! The owner's drop is code of others, which may call a driver, so it cannot run in a callback of the device. It runs
//! on a thread that uses the context anyway, without a wait: at the drop of a buffer whose uses are all complete, or at
//! a later call that finds them complete.

use std::sync::{
    Arc,
    atomic::Ordering::{Relaxed, SeqCst},
};

use quadrants_rhi::{EventHandle, Severity};

use crate::{
    Completed, Context, EventLease, Result,
    pending_owners::{Owner, PendingOwner},
};

impl Context {
    /// Drops an owner after the work at `users`, without waiting for it.
    pub(crate) fn drop_after(self: &Arc<Self>, owner: Owner, users: Completed) {
        self.drop_idle_owners();
        let is_idle = users.iter().all(|stamp| self.registry.is_complete(*stamp));
        if is_idle || !self.device().capabilities().asynchronous || self.is_lost() {
            return drop(owner);
        }
        match self.event_after(users) {
            Ok(event) => {
                // `finish_owners` stores and loads in the other order: either it sees this owner, or this thread sees
                // its call.
                self.owners.count.fetch_add(1, SeqCst);
                let event = event.into_handle();
                self.owners.queue.lock().push_back(PendingOwner { event, owner });
                if self.owners.closed.load(SeqCst) {
                    self.drop_pending_owners(true);
                }
            }
            Err(error) => {
                let lost = error.severity() == Severity::ContextLost;
                self.defer(error);
                self.wait_and_drop(lost, owner);
            }
        }
    }

    fn event_after(self: &Arc<Self>, users: Completed) -> Result<EventLease> {
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { self.make_current()? };
        let event = self.lease_event()?;
        // SAFETY: the internal stream lives as long as the context, and the event is leased.
        unsafe {
            self.order_after(self.free_on, users)?;
            self.observe(self.device().event_record(event.handle(), self.free_on))?;
        }
        Ok(event)
    }

    /// Drops the owners whose memory is not used any more. Does not wait. Called where the thread uses the context
    /// anyway, and holds no lock.
    #[inline]
    pub(crate) fn drop_idle_owners(self: &Arc<Self>) {
        if self.owners.count.load(Relaxed) > 0 {
            self.drop_pending_owners(false);
        }
    }

    /// Waits for the last uses of all foreign memory whose buffers were dropped, and drops the owners. Later drops
    /// wait. Called with the last handle of a program: an owner that waits for a later call may own the context itself.
    pub fn finish_owners(self: &Arc<Self>) {
        self.owners.closed.store(true, SeqCst);
        if self.owners.count.load(SeqCst) > 0 {
            self.drop_pending_owners(true);
        }
    }

    #[cold]
    fn drop_pending_owners(self: &Arc<Self>, wait: bool) {
        loop {
            let Some(first) = self.owners.queue.lock().pop_front() else { return };
            // SAFETY: the event is leased.
            let complete = unsafe {
                match wait {
                    true => self.wait_for_event(first.event).map(|()| true),
                    false => self.observe(self.device().event_query(first.event)),
                }
            };
            match complete {
                Ok(false) => return self.owners.queue.lock().push_front(first),
                Ok(true) => {
                    self.owners.count.fetch_sub(1, Relaxed);
                    self.return_event(first.event);
                    drop(first.owner);
                }
                Err(error) => {
                    self.owners.count.fetch_sub(1, Relaxed);
                    self.return_event(first.event);
                    let lost = error.severity() == Severity::ContextLost;
                    self.defer(error);
                    self.wait_and_drop(lost, first.owner);
                }
            }
        }
    }

    /// After a failure: nothing runs on a lost context; else waits for the device. Where that fails, leaks the owner:
    /// that is better than freeing the memory of a running kernel.
    #[cold]
    fn wait_and_drop(&self, lost: bool, owner: Owner) {
        match lost || self.wait_for_device().is_ok() || self.is_lost() {
            true => drop(owner),
            false => std::mem::forget(owner),
        }
    }

    /// The owners that are left when the context is dropped, with their events.
    pub(crate) fn remaining_owners(&mut self) -> (Vec<Owner>, Vec<EventHandle>) {
        let rest = std::mem::take(self.owners.queue.get_mut());
        rest.into_iter().map(|pending| (pending.owner, pending.event)).unzip()
    }
}
