#![doc = include_str!("../README.md")]

mod case;
mod copies_2d;
mod events;
mod launches;
mod memory;
mod modules;
mod ordering;
mod peers;
mod streams;
mod support;

pub use case::{AddKernel, Case, CaseFailure, Outcome, Subject};
pub use quadrants_rhi as rhi;

/// Passes the list of cases to another macro. Each case is named only here.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_case {
    ([$($consumer:tt)*] $($header:tt)*) => {
        $($consumer)*! { $($header)*
            memory::info_is_filled_in
            memory::memory_info_is_consistent
            memory::an_allocation_of_zero_bytes_is_an_error
            memory::an_allocation_of_too_much_is_out_of_memory
            memory::allocations_are_aligned_and_separate
            memory::bytes_survive_a_round_trip
            memory::pageable_memory_is_read_before_the_call_returns
            memory::copies_and_fills_of_zero_bytes_do_nothing
            memory::a_copy_within_the_device_copies
            memory::fills_write_exactly_their_range
            memory::pinned_memory_is_zeroed_and_separate
            memory::memory_allocated_in_stream_order_works
            memory::the_driver_knows_its_memory
            memory::memory_freed_in_stream_order_stays_valid_for_earlier_work
            copies_2d::rows_are_copied_and_nothing_between_them
            copies_2d::rows_are_copied_to_and_from_pinned_memory
            copies_2d::rows_are_copied_between_those_of_the_source
            copies_2d::a_copy_of_no_rows_or_empty_rows_does_nothing
            copies_2d::a_pitch_below_the_width_is_an_error
            copies_2d::other_work_uses_the_bytes_between_rows
            streams::streams_come_and_go
            streams::any_priority_is_accepted
            streams::repeated_stream_queries_make_progress
            streams::a_destroyed_stream_finishes_its_work
            streams::the_default_stream_works
            streams::synchronizing_the_device_waits_for_all_streams
            streams::other_threads_use_the_device
            streams::threads_use_streams_of_their_own_at_once
            events::an_event_never_recorded_is_complete
            events::repeated_event_queries_make_progress
            events::waiting_for_an_event_waits_for_its_work
            events::time_passes_between_timing_events
            ordering::a_consumer_waits_for_its_producer
            ordering::a_wait_keeps_the_record_it_was_made_for
            ordering::a_wait_outlives_its_event
            ordering::two_streams_hand_a_buffer_back_and_forth
            ordering::a_fork_and_a_join_order_all_branches
            peers::a_copy_from_a_peer_has_the_order_of_events
            peers::a_copy_of_zero_bytes_from_a_peer_does_nothing
            peers::the_device_knows_which_peers_it_can_access
            peers::without_peers_a_copy_is_unsupported
            modules::an_image_of_another_kind_is_unsupported
            modules::a_broken_image_is_rejected
            modules::a_missing_function_is_not_found
            modules::a_module_can_be_loaded_again
            launches::a_launch_computes
            launches::the_argument_block_is_read_at_the_call
            launches::launches_of_a_stream_run_in_order
            launches::launches_on_two_streams_have_their_own_arguments
            launches::an_argument_block_above_the_limit_is_an_error
            launches::a_graph_of_two_nodes_runs
            launches::a_graph_copies_between_its_launches
            launches::an_updated_node_keeps_earlier_launches
            launches::graphs_are_unsupported_without_the_capability
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! make_case_list {
    ($($module:ident::$case:ident)*) => {
        /// Every case of the suite.
        pub const CASES: &[Case] = &[$(
            Case { name: concat!(stringify!($module), "::", stringify!($case)), run: $module::$case },
        )*];
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! make_case_tests {
    ($setup:path; $($module:ident::$case:ident)*) => {$(
        #[test]
        fn $case() {
            $crate::run_case(concat!(stringify!($module), "::", stringify!($case)), $setup);
        }
    )*};
}

/// Makes a `#[test]` of each case.
///
/// `$setup` is the path of a function `fn(case: &str) -> Option<Subject>` that opens the device and loads nothing. If
/// it returns `None`, the case prints that there is no device, and passes.
#[macro_export]
macro_rules! conformance_tests {
    ($setup:path) => {
        $crate::for_each_case! { [$crate::make_case_tests] $setup; }
    };
}

for_each_case! { [make_case_list] }

/// Runs one case as a test. Used by [`conformance_tests!`](crate::conformance_tests).
///
/// # Panics
/// If the case fails, or if there is no case of this name.
pub fn run_case(name: &str, setup: fn(&str) -> Option<Subject>) {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("there is no case {name}"));
    let Some(subject) = setup(name) else {
        eprintln!("skipped: no device for {name}");
        return;
    };
    match (case.run)(&subject) {
        Ok(Outcome::Passed) => {}
        Ok(Outcome::Skipped(why)) => eprintln!("skipped: {why}"),
        Err(failure) => panic!("{name}: {failure}"),
    }
}
