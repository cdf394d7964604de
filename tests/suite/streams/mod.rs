//! Guarantees: events and waits order streams, and nothing else does; no other stream waits for a free or a host read
//! that does not concern it; the current stream belongs to one thread.

mod current;
mod ordering;
mod schedules;
