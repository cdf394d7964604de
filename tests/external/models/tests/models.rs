//! Runs the scenes.

use models::scenes;

macro_rules! scenes {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            scenes::$name();
        }
    )*};
}

scenes! {
    stamps_keep_the_newest_of_every_stream
    stamps_beyond_the_slots_are_kept_too
    a_position_that_is_complete_shows_its_work
    a_stream_is_destroyed_when_nobody_uses_it
    a_pooled_handle_is_one_threads_at_a_time
    a_report_is_taken_once_and_whole
    what_is_recalled_was_written_together
}
