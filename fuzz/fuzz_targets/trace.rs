//! Traces: any text is an error or a timeline, which has a table, a picture, and a trace that is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quadrants_program::Timeline;

fuzz_target!(|text: &str| {
    if let Ok(timeline) = Timeline::from_chrome_trace(text) {
        let _ = (timeline.to_string(), timeline.svg());
        assert!(Timeline::from_chrome_trace(&timeline.chrome_trace()).is_ok());
    }
});
