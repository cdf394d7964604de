//! The C interface to a world's controls, for programs that load the simulator as a driver library.
//!
//! Every function returns 0 or a driver code; 101 if the device does not exist.

use std::{
    ffi::{c_char, c_int, c_void},
    fmt::Display,
    time::Duration,
};

use crate::{
    code::Code,
    entry::{Family, driver_functions},
    functions::{self, collectives},
    handle::{HandleKind, decode},
    pointer::{Out, Text},
    schedule::Schedule,
    world::{World, world},
};

/// Version 1.0, as 1000 * major + 10 * minor.
const VERSION: c_int = 1000;

/// The version of this interface. Programs recognize the simulator by this function.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn quadrants_sim_version() -> c_int {
    VERSION
}

driver_functions! {
    /// Resets the world to the settings of the environment.
    fn [Cuda quadrants_sim_reset](ordinal: usize) |_call| {
        of(ordinal)?.reset();
    }

    /// Sets schedule (`lazy`, `eager`, `random`, `adversarial`) and seed.
    fn [Cuda quadrants_sim_set_schedule](ordinal: usize, schedule: Text, seed: u64) |_call| {
        let schedule = Schedule::from_name(schedule.read()?).ok_or(Code::INVALID_VALUE)?;
        let world = of(ordinal)?;
        world.set_schedule(schedule);
        world.set_seed(seed);
    }

    /// Sets whether the device reports memory pools.
    fn [Cuda quadrants_sim_set_pools](ordinal: usize, pools: bool) |_call| {
        of(ordinal)?.set_pools(pools);
    }

    /// Sets the size of the device memory in bytes.
    fn [Cuda quadrants_sim_set_memory_limit](ordinal: usize, bytes: usize) |_call| {
        of(ordinal)?.set_memory_limit(bytes);
    }

    /// Makes the `nth` call of a function (`*` for any) from now on return `code` and do nothing. With code 0 the call
    /// returns success.
    fn [Cuda quadrants_sim_fail](ordinal: usize, function: Text, nth: u64, code: c_int) |_call| {
        let world = of(ordinal)?;
        let name = function.read()?;
        if name == "*" {
            world.fail_any(nth, Code(code));
            return Ok(());
        }
        let mut known = functions::rows(Family::Cuda)
            .chain(functions::rows(Family::Hip))
            .chain(collectives::rows())
            .chain(rows());
        let (function, _) = known.find(|(row, _)| *row == name).ok_or(Code::NOT_FOUND)?;
        match code {
            0 => world.ignore(function, nth),
            code => world.fail(function, nth, Code(code)),
        }
    }

    /// The number of calls of a function.
    fn [Cuda quadrants_sim_calls](ordinal: usize, function: Text, count: Out<u64>) |_call| {
        count.set(of(ordinal)?.calls(function.read()?))?;
    }

    /// The number of created streams, events, modules, allocations, stream-ordered allocations, pinned allocations,
    /// graphs and executable graphs: 8 numbers.
    fn [Cuda quadrants_sim_creates](ordinal: usize, counts: Out<u64>) |_call| {
        let made = of(ordinal)?.creates();
        counts.set_all(&[
            made.streams,
            made.events,
            made.modules,
            made.allocations,
            made.stream_allocations,
            made.pinned,
            made.graphs,
            made.graph_execs,
        ])?;
    }

    /// The number of existing streams, events, modules, blocks, bytes, pinned allocations, pinned bytes, graphs and
    /// executable graphs, of pending operations, and of references to the context: 11 numbers.
    fn [Cuda quadrants_sim_live](ordinal: usize, counts: Out<u64>) |_call| {
        let live = of(ordinal)?.live();
        counts.set_all(&[
            live.streams as u64,
            live.events as u64,
            live.modules as u64,
            live.blocks as u64,
            live.bytes as u64,
            live.pinned as u64,
            live.pinned_bytes as u64,
            live.graphs as u64,
            live.graph_execs as u64,
            live.pending as u64,
            u64::from(live.context_refs),
        ])?;
    }

    /// The hash of the order in which operations ran.
    fn [Cuda quadrants_sim_schedule_hash](ordinal: usize, hash: Out<u64>) |_call| {
        hash.set(of(ordinal)?.schedule_hash())?;
    }

    /// Whether operation `a` is complete before `b` starts in every schedule.
    fn [Cuda quadrants_sim_happens_before](ordinal: usize, a: u64, b: u64, answer: Out<bool>) |_call| {
        answer.set(of(ordinal)?.trace().happens_before(a, b))?;
    }

    /// Writes the trace as text into `room` bytes, truncated if they are too few, and its full length with the final
    /// zero to `needed`. `text` may be null.
    fn [Cuda quadrants_sim_trace](ordinal: usize, text: Out<c_char>, room: usize, needed: Out<usize>) |_call| {
        give(&of(ordinal)?.trace().to_string(), text, room, needed)?;
    }

    /// Writes the operations that ran, one per line, like the trace.
    fn [Cuda quadrants_sim_timeline](ordinal: usize, text: Out<c_char>, room: usize, needed: Out<usize>) |_call| {
        give(&of(ordinal)?.timeline_text(), text, room, needed)?;
    }

    /// When each node of an executable graph starts and ends in the simulated clock, in nanoseconds from its launch:
    /// two numbers per node, of at most `room` nodes. `count` is the number of all nodes.
    fn [Cuda quadrants_sim_graph_times](exec: usize, times: Out<u64>, room: usize, count: Out<usize>) |_call| {
        let (world, exec) = decode(HandleKind::Exec, exec)?;
        let nodes = of(world.into())?.with(|state| state.node_times(exec))?;
        count.set(nodes.len())?;
        let known: Vec<u64> = nodes.iter().take(room).flat_map(|&(start, end)| [start, end]).collect();
        times.set_all(&known)?;
    }

    /// Turns the race detector on or off.
    fn [Cuda quadrants_sim_detect_races](ordinal: usize, on: bool) |_call| {
        of(ordinal)?.detect_races(on);
    }

    /// Writes the races, one per line, like the trace.
    fn [Cuda quadrants_sim_races](ordinal: usize, text: Out<c_char>, room: usize, needed: Out<usize>) |_call| {
        give(&lines(&of(ordinal)?.races()), text, room, needed)?;
    }

    /// Sets how long a wait lasts for calls of other ranks.
    fn [Cuda quadrants_sim_set_wait_limit](ordinal: usize, milliseconds: u64) |_call| {
        of(ordinal)?.set_wait_limit(Duration::from_millis(milliseconds));
    }

    /// Breaks the communicators of the ranks on the device.
    fn [Cuda quadrants_sim_break_communicators](ordinal: usize) |_call| {
        of(ordinal)?.break_communicators();
    }

    /// Writes the reports, one per line, like the trace.
    fn [Cuda quadrants_sim_reports](ordinal: usize, text: Out<c_char>, room: usize, needed: Out<usize>) |_call| {
        give(&lines(&of(ordinal)?.reports()), text, room, needed)?;
    }
}

/// The functions of this interface by name. Both simulated libraries export them.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, *const c_void)> {
    let version = ("quadrants_sim_version", quadrants_sim_version as *const c_void);
    ROWS.iter().map(|(_, name, address)| (*name, *address)).chain([version])
}

fn of(ordinal: usize) -> crate::code::Result<World> {
    world(ordinal).ok_or(Code::INVALID_DEVICE)
}

fn lines(items: &[impl Display]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

fn give(
    content: &str,
    text: Out<c_char>,
    room: usize,
    needed: Out<usize>,
) -> crate::code::Result<()> {
    needed.set(content.len() + 1)?;
    if text.is_null() { Ok(()) } else { text.set_text(content, room) }
}
