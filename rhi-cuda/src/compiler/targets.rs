//! Tests that compile all emitted text: the samples for every supported architecture, and, if `QUADRANTS_COMPILE_DUMP`
//! names a folder, the texts that other tests wrote there, each for one architecture in turn.

use std::{thread, time::Instant};

use quadrants_codegen::{CompileRequest, Error};
use quadrants_samples::units::Units;

use super::{nvrtc::Nvrtc, text};

const ARCHS: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

fn units() -> Units {
    Units::new("cu", |kernel, form, passing| {
        text(kernel, &CompileRequest::new("", form, passing)).text
    })
}

#[test]
fn all_text_compiles_for_every_promised_architecture() {
    let nvrtc = match Nvrtc::get() {
        Ok(nvrtc) => nvrtc,
        Err(Error::CompilerNotFound { searched, .. }) => {
            println!("skipped: no NVRTC (searched {})", searched.join("; "));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let Units { units, count, in_turn } = units();
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..2 {
            let units = &units;
            scope.spawn(move || {
                for (turn, arch) in ARCHS.iter().enumerate().filter(|(turn, _)| turn % 2 == thread)
                {
                    let target = nvrtc.target(arch).unwrap();
                    // An older NVRTC compiles to PTX for its newest architecture, which still checks the text.
                    let its = |at: usize| !in_turn || at % ARCHS.len() == turn;
                    for (_, unit) in units.iter().enumerate().filter(|(at, _)| its(*at)) {
                        match nvrtc.compile(
                            "batch",
                            unit,
                            &target,
                            &super::options(&<_>::default()),
                        ) {
                            Ok((image, _)) => assert!(!image.is_empty()),
                            Err(Error::Rejected { log, .. }) => panic!("{arch}: {log}"),
                            Err(error) => panic!("{arch}: {error}"),
                        }
                    }
                }
            });
        }
    });
    println!(
        "{count} texts by {} for {ARCHS:?} in {:.0} s",
        nvrtc.identity(),
        start.elapsed().as_secs_f64()
    );
}
