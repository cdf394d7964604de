//! Access patterns, each as a kernel with launches that are free of races and launches that are not.
//!
//! [`patterns!`] compiles each kernel twice: for the backends, and as plain Rust on tensors that record which iteration
//! accesses which element ([`plain`]). So every launch is compared with a plain loop in its result and in its races.

mod basics;
mod bits;
mod block_loops;
mod chunks;
mod conditions;
mod flat;
mod funcs;
mod guards;
mod indices;
mod phases;
mod plain;
mod pointers;
mod positions;
mod queues;
mod sequential;
mod tensor_phases;
mod tickets;

use quadrants::{Error, Result, Tensor};
use quadrants_tests::On;

/// Funcs, then kernels of the form `kernel name(parameters) [definitions] for variable in [range] { … }`.
macro_rules! patterns {
    (
        $(func $func:ident($($func_params:tt)*) $(-> $result:ty)? { $($func_body:tt)* })*
        $($(#[$about:meta])* kernel $name:ident($($params:tt)*) [$($prelude:tt)*]
          for $var:tt in [$($range:tt)*] { $($body:tt)* })*
    ) => {
        #[allow(clippy::explicit_counter_loop)] // running pointers are tested
        mod kernels {
            use quadrants::{self as qd, Tensor};

            $(
                #[qd::func]
                fn $func($($func_params)*) $(-> $result)? { $($func_body)* }
            )*
            $(
                $(#[$about])*
                #[qd::kernel]
                pub(super) fn $name($($params)*) {
                    $($prelude)*
                    for $var in $($range)* { $($body)* }
                }
            )*
        }
        #[allow(clippy::all, clippy::pedantic, unused)]
        mod loops {
            use super::super::plain::{self, Tensor, qd};

            $(
                fn $func($($func_params)*) $(-> $result)? { $($func_body)* }
            )*
            $(
                pub(super) fn $name($($params)*) {
                    $($prelude)*
                    for (nth, $var) in ($($range)*).into_iter().enumerate() {
                        plain::begin(nth);
                        $($body)*
                    }
                }
            )*
        }
    };
}

/// Launches a kernel on the device tensors, and runs its plain loop on the others.
macro_rules! launch {
    ($bench:expr, $verdict:ident, $name:ident($($scalar:expr),*; $($read:ident),*; $($out:ident),+)) => {{
        $($out.reset()?;)+
        crate::proofs::patterns::plain::start();
        loops::$name($($scalar,)* $(&$read.plain,)* $(&mut $out.plain),+);
        let log = crate::proofs::patterns::plain::finish();
        let verdict = crate::proofs::patterns::Expected::$verdict;
        assert!(!log.outside || verdict == crate::proofs::patterns::Expected::Sound);
        if !log.outside {
            let launched = kernels::$name($($scalar,)* $(&$read.device,)* $(&mut $out.device),+).launch();
            let launch = format!("{}{:?}", stringify!($name), ($($scalar,)*));
            if $bench.judge(&launch, verdict, launched, log.races) {
                $($out.check(&launch, $bench.sorted)?;)+
            }
        }
    }};
}

pub(crate) use {launch, patterns};

/// The expected result of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    /// It is accepted and has no race.
    Accept,
    /// It has a race and is rejected.
    Collide,
    /// It has no race, and is rejected because that is not proven.
    Refuse,
    /// It is accepted only if it has no race.
    Sound,
}

/// A device and the numbers of its launches.
struct Bench {
    on: On,
    /// Whether results may be in any order.
    sorted: bool,
    accepted: usize,
    rejected: usize,
    failures: Vec<String>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.failures.is_empty(), "{:#?}", self.failures);
        }
    }
}

/// A tensor on the device and its plain counterpart.
struct Pair<const N: usize> {
    device: Tensor<u32, N>,
    plain: plain::Tensor<u32, N>,
    first: Vec<u32>,
}

impl Bench {
    fn new(on: On) -> Self {
        Self { on, sorted: false, accepted: 0, rejected: 0, failures: Vec::new() }
    }

    /// A tensor with these elements, repeated.
    fn tensor<const N: usize>(&self, elements: &[u32], shape: [usize; N]) -> Result<Pair<N>> {
        let count = shape.iter().product();
        let first: Vec<u32> = elements.iter().copied().cycle().take(count).collect();
        let device = self.on.program.tensor_from(&first, shape)?;
        Ok(Pair { device, plain: plain::Tensor::new(first.clone(), shape), first })
    }

    fn zeros<const N: usize>(&self, shape: [usize; N]) -> Result<Pair<N>> {
        self.tensor(&[0], shape)
    }

    /// Checks the verdict. Returns whether the launch ran.
    fn judge(
        &mut self,
        launch: &str,
        expected: Expected,
        launched: Result<()>,
        races: bool,
    ) -> bool {
        let (ran, error) = match launched {
            Ok(()) => (true, String::new()),
            Err(error @ Error::Race { .. }) => (false, error.to_string()),
            Err(error) => panic!("{launch}: {error}"),
        };
        let is_expected = !(ran && races)
            && match expected {
                Expected::Accept => ran,
                Expected::Collide => !ran && races,
                Expected::Refuse => !ran && !races,
                Expected::Sound => true,
            };
        if !is_expected {
            self.failures.push(format!("{launch} ran: {ran}, races: {races} {error}"));
        }
        if expected == Expected::Sound && !ran && !races {
            println!("{launch} is refused without a race");
        }
        if ran {
            self.accepted += 1
        } else {
            self.rejected += 1
        }
        ran
    }
}

impl<const N: usize> Pair<N> {
    fn reset(&mut self) -> Result<()> {
        self.plain = plain::Tensor::new(self.first.clone(), self.plain.shape());
        self.device.write(&self.first)
    }

    fn check(&self, launch: &str, sorted: bool) -> Result<()> {
        let (mut found, mut expected) = (self.device.to_vec()?, self.plain.elements().to_vec());
        if sorted {
            found.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(found, expected, "{launch}");
        Ok(())
    }
}
