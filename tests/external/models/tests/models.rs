//! Runs the scenarios.

use models::scenarios;

macro_rules! scenarios {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            scenarios::$name();
        }
    )*};
}

scenarios! {
    stamps_keep_the_newest_of_every_stream
    stamps_beyond_the_slots_are_kept_too
    a_position_that_is_complete_shows_its_work
    a_stream_is_destroyed_after_its_last_lease
    a_pooled_handle_has_one_user_at_a_time
    an_error_report_is_taken_once_and_complete
    a_seqlock_read_returns_the_words_of_one_write
}
