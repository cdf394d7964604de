#![doc = include_str!("../README.md")]

mod case;
mod events;
mod launches;
mod memory;
mod modules;
mod ordering;
mod streams;
mod support;

pub use case::{AddKernel, Case, Failure, Outcome, Subject, run_case};
pub use quadrants_rhi as rhi;

/// Hands the list of cases to another macro: every case is named once, here.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_case {
    ([$($consumer:tt)*] $($header:tt)*) => {
        $($consumer)*! { $($header)*
            memory::info_is_filled_in
            memory::memory_info_is_sane
            memory::an_allocation_of_nothing_is_refused
            memory::an_allocation_of_too_much_is_out_of_memory
            memory::allocations_are_aligned_and_apart
            memory::bytes_come_back_as_they_went
            memory::copies_and_fills_of_nothing_do_nothing
            memory::a_copy_within_the_device_copies
            memory::fills_fill_what_they_should
            memory::pinned_memory_is_zeroed_and_its_own
            memory::memory_allocated_in_stream_order_works
            memory::memory_freed_in_stream_order_served_its_work
            streams::streams_come_and_go
            streams::any_priority_is_accepted
            streams::a_stream_becomes_idle_while_it_is_asked
            streams::a_destroyed_stream_finishes_its_work
            streams::the_default_stream_works
            streams::synchronizing_the_device_waits_for_all_streams
            streams::other_threads_use_the_device
            streams::threads_use_streams_of_their_own_at_once
            events::an_event_never_recorded_is_complete
            events::an_event_becomes_complete_while_it_is_asked
            events::waiting_for_an_event_waits_for_its_work
            events::time_passes_between_timing_events
            ordering::a_consumer_waits_for_its_producer
            ordering::a_wait_keeps_the_record_it_was_made_for
            ordering::a_wait_outlives_its_event
            ordering::two_streams_hand_a_buffer_back_and_forth
            ordering::a_fork_and_a_join_order_all_branches
            modules::an_image_of_another_kind_is_refused
            modules::a_broken_image_is_refused
            modules::a_missing_function_is_reported
            modules::a_module_can_be_loaded_again
            launches::a_launch_computes
            launches::the_argument_block_is_read_at_the_call
            launches::launches_of_a_stream_run_in_order
            launches::launches_on_two_streams_have_their_own_arguments
            launches::too_large_a_block_is_refused
            launches::a_graph_of_two_nodes_runs
            launches::a_graph_copies_between_its_launches
            launches::an_updated_node_keeps_earlier_launches
            launches::graphs_are_refused_where_there_are_none
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
/// `$setup` is the path of a function `fn(case: &str) -> Option<Subject>`, which opens the device and loads
/// nothing. Where it gives `None` there is nothing to test, and the case says so and passes.
#[macro_export]
macro_rules! conformance_tests {
    ($setup:path) => {
        $crate::for_each_case! { [$crate::make_case_tests] $setup; }
    };
}

for_each_case! { [make_case_list] }
