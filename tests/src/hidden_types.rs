//! Programs that the type sites refuse (`quadrants_program::body::site`). Where rustc type-checks a kernel's source, a
//! method or an operator can be another one than in the kernel, and determine a type there. rustc finds the difference
//! only when it compiles the kernel, so that these are documentation tests and not cases of `ui`.
//!
//! The kernel that the following ones vary: here both methods take the same type.
//! ```
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! pub trait Number: qd::Int {
//!     const VALUE: Self;
//! }
//! impl Number for u64 {
//!     const VALUE: u64 = 1;
//! }
//! impl Number for usize {
//!     const VALUE: usize = 1 << 40;
//! }
//! #[qd::func]
//! fn made<T: Number>() -> T {
//!     T::VALUE
//! }
//!
//! #[derive(Clone, Copy, KernelValue)]
//! pub struct Cup(usize);
//! impl Cup {
//!     fn drink(self, _: usize) -> usize {
//!         0
//!     }
//! }
//! #[qd::func]
//! trait Drink {
//!     fn drink(self, k: usize) -> usize;
//! }
//! #[qd::func]
//! impl Drink for Cup {
//!     fn drink(self, k: usize) -> usize {
//!         k
//!     }
//! }
//! #[qd::kernel]
//! fn run(cup: Cup, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         x[cup.drink(made()).min(3) + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Cup(0), &mut x).launch().unwrap();
//! }
//! ```
//!
//! The result of a func, as an argument of a method.
//! ```compile_fail,E0080
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! pub trait Number: qd::Int {
//!     const VALUE: Self;
//! }
//! impl Number for u64 {
//!     const VALUE: u64 = 1;
//! }
//! impl Number for usize {
//!     const VALUE: usize = 1 << 40;
//! }
//! #[qd::func]
//! fn made<T: Number>() -> T {
//!     T::VALUE
//! }
//!
//! #[derive(Clone, Copy, KernelValue)]
//! pub struct Cup(usize);
//! impl Cup {
//!     fn drink(self, _: u64) -> usize {
//!         0
//!     }
//! }
//! #[qd::func]
//! trait Drink {
//!     fn drink(self, k: usize) -> usize;
//! }
//! #[qd::func]
//! impl Drink for Cup {
//!     fn drink(self, k: usize) -> usize {
//!         k
//!     }
//! }
//! #[qd::kernel]
//! fn run(cup: Cup, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         x[cup.drink(made()) + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Cup(0), &mut x).launch().unwrap();
//! }
//! ```
//!
//! The same, as the value of branches.
//! ```compile_fail,E0080
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! pub trait Number: qd::Int {
//!     const VALUE: Self;
//! }
//! impl Number for u64 {
//!     const VALUE: u64 = 1;
//! }
//! impl Number for usize {
//!     const VALUE: usize = 1 << 40;
//! }
//! #[qd::func]
//! fn made<T: Number>() -> T {
//!     T::VALUE
//! }
//!
//! #[derive(Clone, Copy, KernelValue)]
//! pub struct Cup(usize);
//! impl Cup {
//!     fn drink(self, _: u64) -> usize {
//!         0
//!     }
//! }
//! #[qd::func]
//! trait Drink {
//!     fn drink(self, k: usize) -> usize;
//! }
//! #[qd::func]
//! impl Drink for Cup {
//!     fn drink(self, k: usize) -> usize {
//!         k
//!     }
//! }
//! #[qd::kernel]
//! fn run(cup: Cup, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         x[cup.drink(if i > 3 { made() } else { loop { break made() } }) + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Cup(0), &mut x).launch().unwrap();
//! }
//! ```
//!
//! The same, of an associated function.
//! ```compile_fail,E0080
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! pub trait Number: qd::Int {
//!     const VALUE: Self;
//! }
//! impl Number for u64 {
//!     const VALUE: u64 = 1;
//! }
//! impl Number for usize {
//!     const VALUE: usize = 1 << 40;
//! }
//! #[qd::func]
//! fn made<T: Number>() -> T {
//!     T::VALUE
//! }
//!
//! #[derive(Clone, Copy, KernelValue)]
//! pub struct Cup(usize);
//! impl Cup {
//!     fn fill(_: u64) -> usize {
//!         0
//!     }
//! }
//! #[qd::func]
//! trait Drink {
//!     fn fill(k: usize) -> usize;
//! }
//! #[qd::func]
//! impl Drink for Cup {
//!     fn fill(k: usize) -> usize {
//!         k
//!     }
//! }
//! #[qd::kernel]
//! fn run(cup: Cup, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         x[Cup::fill(made()) + cup.0 + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Cup(0), &mut x).launch().unwrap();
//! }
//! ```
//!
//! A method of a derived trait hides a func.
//! ```compile_fail,E0080
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! pub mod other {
//!     #[derive(Clone, Copy, quadrants::KernelValue)]
//!     pub struct Mark {
//!         pub at: usize,
//!     }
//! }
//! #[derive(Clone, Copy, KernelValue, PartialEq, Eq, PartialOrd, Ord)]
//! pub struct Mark {
//!     pub at: usize,
//! }
//! #[qd::func]
//! pub trait Make {
//!     fn make() -> Self;
//! }
//! #[qd::func]
//! impl Make for Mark {
//!     fn make() -> Mark {
//!         Mark { at: 1 }
//!     }
//! }
//! #[qd::func]
//! impl Make for other::Mark {
//!     fn make() -> other::Mark {
//!         other::Mark { at: 1 << 40 }
//!     }
//! }
//! #[qd::func]
//! fn made<T: Make>() -> T {
//!     T::make()
//! }
//! #[qd::func]
//! trait Largest {
//!     fn max(&self, other: other::Mark) -> Mark;
//! }
//! #[qd::func]
//! impl Largest for Mark {
//!     fn max(&self, other: other::Mark) -> Mark {
//!         Mark { at: other.at }
//!     }
//! }
//! #[qd::kernel]
//! fn run(mark: Mark, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         x[mark.max(made()).at + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Mark { at: 0 }, &mut x).launch().unwrap();
//! }
//! ```
//!
//! A comparison with another type.
//! ```compile_fail,E0080
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! pub mod other {
//!     #[derive(Clone, Copy, quadrants::KernelValue)]
//!     pub struct Mark {
//!         pub at: usize,
//!     }
//! }
//! #[derive(Clone, Copy, KernelValue, PartialEq, Eq, PartialOrd, Ord)]
//! pub struct Mark {
//!     pub at: usize,
//! }
//! #[qd::func]
//! pub trait Make {
//!     fn make() -> Self;
//! }
//! #[qd::func]
//! impl Make for Mark {
//!     fn make() -> Mark {
//!         Mark { at: 1 }
//!     }
//! }
//! #[qd::func]
//! impl Make for other::Mark {
//!     fn make() -> other::Mark {
//!         other::Mark { at: 1 << 40 }
//!     }
//! }
//! #[qd::func]
//! fn made<T: Make>() -> T {
//!     T::make()
//! }
//! #[derive(Clone, Copy, KernelValue)]
//! pub struct Sign {
//!     pub at: usize,
//! }
//! impl PartialEq<other::Mark> for Sign {
//!     fn eq(&self, _: &other::Mark) -> bool {
//!         false
//!     }
//! }
//! #[qd::func]
//! impl Make for Sign {
//!     fn make() -> Sign {
//!         Sign { at: 5 }
//!     }
//! }
//! #[qd::kernel]
//! fn run(sign: Sign, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         let at = if sign == made() { 1 } else { 1_usize << 40 };
//!         x[at + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Sign { at: 1 << 40 }, &mut x).launch().unwrap();
//! }
//! ```
//!
//! Two types of one name, at one place of the source.
//! ```compile_fail,E0080
//! use quadrants::{self as qd, KernelValue, Tensor};
//!
//! #[qd::func]
//! pub trait Make {
//!     fn make() -> Self;
//!     fn at(self) -> usize;
//! }
//! #[qd::func]
//! fn made<T: Make>() -> T {
//!     T::make()
//! }
//! pub trait Is {
//!     type Twin;
//! }
//! pub struct First;
//! pub struct Second;
//! macro_rules! twins {
//!     ($($name:ident $at:expr;)*) => {$(
//!         const _: () = {
//!             #[derive(Clone, Copy, KernelValue)]
//!             pub struct Twin {
//!                 pub at: usize,
//!             }
//!             #[qd::func]
//!             impl Make for Twin {
//!                 fn make() -> Twin {
//!                     Twin { at: $at }
//!                 }
//!                 fn at(self) -> usize {
//!                     self.at
//!                 }
//!             }
//!             impl Is for $name {
//!                 type Twin = Twin;
//!             }
//!         };
//!     )*};
//! }
//! twins! {
//!     First 1;
//!     Second 1 << 40;
//! }
//! type FirstTwin = <First as Is>::Twin;
//! type SecondTwin = <Second as Is>::Twin;
//!
//! #[derive(Clone, Copy, KernelValue)]
//! pub struct Cup(usize);
//! impl Cup {
//!     fn drink(self, _: FirstTwin) -> usize {
//!         0
//!     }
//! }
//! #[qd::func]
//! trait Drink {
//!     fn drink(self, k: SecondTwin) -> usize;
//! }
//! #[qd::func]
//! impl Drink for Cup {
//!     fn drink(self, k: SecondTwin) -> usize {
//!         k.at()
//!     }
//! }
//! #[qd::kernel]
//! fn run(cup: Cup, x: &mut Tensor<u64, 1>) {
//!     for i in 0..1 {
//!         let one = made();
//!         let both = [one, made()];
//!         x[cup.drink(both[i]) + i] = 7;
//!     }
//! }
//! fn main() {
//!     // Instantiates the kernel.
//!     let program = qd::Program::open(qd::Arch::Cpu).unwrap();
//!     let mut x = program.zeros::<u64, 1>([16]).unwrap();
//!     run(Cup(0), &mut x).launch().unwrap();
//! }
//! ```
