//! The conformance suite on the CPU, and tests of the CPU backend.

use std::{
    panic,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use quadrants_conformance::{AddKernel, Subject};
use quadrants_rhi_cpu::{
    driver,
    rhi::{
        Device, Error, Image, LaunchConfig, NativeCall, NativeFunction, NativeImage, Severity,
        StreamHandle, StreamOptions,
    },
};

quadrants_conformance::conformance_tests!(subject);

fn subject(_case: &str) -> Option<Subject> {
    let add = AddKernel {
        image: image("add", add),
        function: "add".into(),
        args: |p, n, k| vec![p, n, u64::from(k)],
        block_dim: 64,
    };
    Some(Subject { device: open(), peer: Some(open()), add: Some(add), keep: None })
}

fn open() -> Arc<dyn Device> {
    driver().unwrap().open(0).unwrap()
}

fn image(name: &str, entry: impl Fn(&NativeCall<'_>) + Send + Sync + 'static) -> Image<'static> {
    let function = NativeFunction { name: name.to_owned(), entry: Arc::new(entry) };
    Image::Native(NativeImage { functions: vec![function] })
}

fn add(call: &NativeCall<'_>) {
    let [address, words, add] = call.args else { panic!("{} words of arguments", call.args.len()) };
    // SAFETY: the suite passes the address of that many words.
    let words = unsafe { std::slice::from_raw_parts_mut(*address as *mut u32, *words as usize) };
    words.iter_mut().for_each(|word| *word = word.wrapping_add(*add as u32));
}

/// Launches the only function of `image`.
fn launch(image: &Image<'_>, name: &str) -> Result<(), Error> {
    let device = open();
    let module = device.load_module(image)?;
    // SAFETY: the functions here read no arguments.
    unsafe {
        let function = device.function(module, name)?;
        let result = device.launch(function, &LaunchConfig::SERIAL, &[], StreamHandle::DEFAULT);
        device.unload_module(module)?;
        result
    }
}

#[test]
fn there_is_one_device() {
    let driver = driver().unwrap();
    assert_eq!(driver.device_count().unwrap(), 1);
    let error = driver.open(1).unwrap_err();
    assert!(matches!(error, Error::DeviceOrdinal { backend: "cpu", ordinal: 1, count: 1 }));
}

#[test]
fn handles_of_streams_and_events_are_zero() {
    let device = open();
    assert_eq!(device.create_stream(StreamOptions::default()).unwrap().raw(), 0);
    assert_eq!(device.create_event(Default::default()).unwrap().raw(), 0);
    assert!(!device.capabilities().asynchronous);
}

#[test]
fn a_panic_is_the_launches_error() {
    let text = image("f", |_| panic!("a fixed message"));
    let formatted = image("f", |call| panic!("{} words", call.args.len()));
    let other = image("f", |_| panic::panic_any(7u8));
    for (image, expected) in
        [(text, "a fixed message"), (formatted, "0 words"), (other, "a value that is not text")]
    {
        let error = launch(&image, "f").unwrap_err();
        assert_eq!(error.severity(), Severity::LostData);
        let Error::Panicked { message, line: None } = error else { panic!("{error}") };
        assert_eq!(message, expected);
    }
}

#[test]
fn two_functions_with_one_name_are_an_error() {
    let function = NativeFunction { name: "f".into(), entry: Arc::new(|_| {}) };
    let image = Image::Native(NativeImage { functions: vec![function.clone(), function] });
    assert!(matches!(open().load_module(&image), Err(Error::ImageRejected { .. })));
}

#[test]
fn unloading_frees_what_a_function_captured() {
    let captured = Arc::new(AtomicUsize::new(0));
    let inside = captured.clone();
    let image = image("count", move |_| {
        inside.fetch_add(1, Ordering::Relaxed);
    });
    launch(&image, "count").unwrap();
    drop(image);
    assert_eq!(captured.load(Ordering::Relaxed), 1);
    assert_eq!(Arc::strong_count(&captured), 1);
}

/// A body may launch other functions, also from several threads: no lock is held while it runs.
#[test]
fn a_body_launches() {
    let device = open();
    let inner = device.load_module(&image("inner", |_| {})).unwrap();
    // SAFETY: just loaded.
    let function = unsafe { device.function(inner, "inner") }.unwrap();
    let nested = device.clone();
    let outer = image("outer", move |_| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // SAFETY: the inner module is unloaded after the outer launch is complete.
                    unsafe {
                        nested.launch(function, &LaunchConfig::SERIAL, &[], StreamHandle::DEFAULT)
                    }
                    .unwrap();
                    let module = nested.load_module(&image("other", |_| {})).unwrap();
                    // SAFETY: just loaded, and none of its functions was launched.
                    unsafe { nested.unload_module(module) }.unwrap();
                });
            }
        });
    });
    launch(&outer, "outer").unwrap();
    // SAFETY: all launches of it are complete.
    unsafe { device.unload_module(inner) }.unwrap();
}
