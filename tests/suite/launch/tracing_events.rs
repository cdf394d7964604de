//! Events that a program sends to `tracing`.

use std::{
    fmt,
    sync::{Mutex, Once},
    thread::{self, ThreadId},
};

use quadrants::{Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// The events of each thread. Process-wide: `tracing` caches a callsite's interest across threads.
static EVENTS: Mutex<Vec<(ThreadId, Level, String)>> = Mutex::new(Vec::new());

/// Keeps level, message and fields of the events of one crate.
struct RecordingSubscriber;

#[derive(Default)]
struct Message {
    text: String,
    fields: String,
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.text = format!("{value:?}"),
            name => self.fields += &format!(" {name}={value:?}"),
        }
    }
}

/// Collects the events of this thread from now on.
pub(crate) struct CapturedEvents(ThreadId);

impl CapturedEvents {
    pub(crate) fn listen() -> Self {
        static SUBSCRIBED: Once = Once::new();
        SUBSCRIBED.call_once(|| {
            tracing::subscriber::set_global_default(RecordingSubscriber).expect("the only one")
        });
        let me = thread::current().id();
        EVENTS.lock().expect("no panic").retain(|(thread, ..)| *thread != me);
        Self(me)
    }

    /// Level, and message with fields.
    pub(crate) fn all(&self) -> Vec<(Level, String)> {
        let said = EVENTS.lock().expect("no panic");
        let mine = said.iter().filter(|(thread, ..)| *thread == self.0);
        mine.map(|(_, level, message)| (*level, message.clone())).collect()
    }
}

impl Subscriber for RecordingSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("quadrants_program")
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message::default();
        event.record(&mut message);
        let level = *event.metadata().level();
        let text = message.text + &message.fields;
        EVENTS.lock().expect("no panic").push((thread::current().id(), level, text));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[on_all_backends]
fn opening_and_closing_a_program_are_traced(backend: TestBackend) -> Result<()> {
    let said = CapturedEvents::listen();
    let said = || {
        let at_info = |(level, text): &(Level, String)| {
            let message = text.split(' ').next().unwrap_or_default().to_owned();
            (*level == Level::INFO).then_some((*level, message))
        };
        said.all().iter().filter_map(at_info).collect::<Vec<_>>()
    };
    let event = |message: &str| (Level::INFO, message.to_owned());
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.zeros::<f32, 1>([4])?;
    assert_eq!(said(), [event("open")]);
    // The tensor keeps the program open; the world is returned with the last handle.
    let quadrants_tests::On { program, world } = on;
    drop(program);
    assert_eq!(said(), [event("open")]);
    drop(x);
    assert_eq!(said(), [event("open"), event("close")]);
    drop(world);
    Ok(())
}

const NEIGHBOURS_LINE: u32 = line!() + 4;
/// Reads beyond a tensor of the same length.
#[quadrants::kernel]
fn neighbours(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = x[i] + x[i + 3];
    }
}

/// Indices from memory, bounded by a condition.
#[quadrants::kernel]
fn guarded(at: &Tensor<u32, 1>, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        let from = at[i] as usize;
        if from < x.len() {
            y[i] = x[from];
        }
    }
}

#[on_all_backends]
fn a_loop_that_is_not_proven_is_traced_with_its_interior(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let checked = || {
        let all = said.all();
        all.into_iter().filter(|(_, text)| text.starts_with("checked")).collect::<Vec<_>>()
    };
    let x = on.program.zeros::<f32, 1>([100])?;
    let mut y = on.program.zeros::<f32, 1>([97])?;
    neighbours(&x, &mut y).launch()?;
    guarded(&on.program.tensor_from(&[500; 97], [97])?, &x, &mut y).launch()?;
    assert_eq!(checked(), []);
    let mut y = on.program.zeros::<f32, 1>([100])?;
    let failed = neighbours(&x, &mut y).launch().and_then(|()| on.program.sync());
    assert!(failed.is_err(), "index 100");
    let text = format!("checked kernel=\"neighbours\" line={NEIGHBOURS_LINE} inside=97 of=100");
    assert_eq!(checked(), [(Level::DEBUG, text)]);
    Ok(())
}
