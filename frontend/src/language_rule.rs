//! The rules of the kernel language and their error messages.

use std::fmt;

use crate::syntax::{Construct, Span};

/// The macros of std that kernels can call.
pub const MACROS: [&str; 13] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "todo",
    "unimplemented",
    "println",
    "matches",
    "cfg",
];

/// A violation of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleViolation {
    /// The offending tokens.
    pub span: Span,
    /// The violated rule.
    pub rule: LanguageRule,
}

/// A rule of the kernel language. Its message says what is wrong and how to fix it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LanguageRule {
    /// A `stream_parallel` block inside another.
    #[error(
        "a `stream_parallel` block cannot be inside another; write both at the kernel's top level"
    )]
    RegionBlockNested,
    /// A `stream_parallel` block inside a loop.
    #[error(
        "a `stream_parallel` block cannot be inside a loop; write it at the kernel's top level and move the loop into it, or launch the kernel repeatedly"
    )]
    RegionBlockInLoop,
    /// A `stream_parallel` block inside a branch.
    #[error(
        "a `stream_parallel` block cannot be inside a branch; write it at the kernel's top level and move the branch into it"
    )]
    RegionBlockInBranch,
    /// A `stream_parallel` block inside a pair of braces.
    #[error(
        "a `stream_parallel` block must be at the kernel's top level; move it out of the enclosing braces"
    )]
    RegionBlockInBraces,
    /// A `stream_parallel` block inside a func.
    #[error(
        "a `stream_parallel` block cannot be in a `#[func]`; write it in the kernel and call the func from its loops"
    )]
    RegionBlockInFunc,
    /// A top-level statement that is neither a `stream_parallel` block nor a `let` of a scalar.
    #[error(
        "this statement is outside the `stream_parallel` blocks of its kernel; move it into a block, or into a kernel of its own. Outside the blocks, such a kernel may only have `let`s of scalar values and, before the first block, `if … {{ return; }}`"
    )]
    RegionBlocksMixed,
    /// `stream_parallel` with an argument that is not a closure literal.
    #[error("`stream_parallel` takes one closure literal: `stream_parallel(|| {{ … }})`")]
    StreamParallelNotClosure,
    /// `stream_parallel` with a closure that has parameters.
    #[error(
        "the closure of `stream_parallel` has no parameters: write `stream_parallel(|| {{ … }})`"
    )]
    StreamParallelParameters,
    /// The value of a `stream_parallel` call is used.
    #[error("`stream_parallel` has no value; write it as a statement of its own")]
    StreamParallelValue,
    /// A `stream_parallel` block assigns a local that is declared outside it.
    #[error(
        "`{0}` is declared outside this `stream_parallel` block, which cannot assign it; declare it inside, or write to an element of a tensor"
    )]
    AssignOutsideRegionBlock(String),
    /// A parallel loop assigns a local that is declared outside it.
    #[error(
        "`{name}` is declared outside this parallel loop, whose iterations run in any order; {}. A loop may combine values into such a local, without other uses of it: `{name} += x`, `{name} = {name}.min(x)`, `{name} |= x`. Otherwise declare `{name}` inside, write to an element of a tensor, or put `#[qd::serial]` on the loop",
        reason.text(name)
    )]
    AssignOutsideLoop {
        /// The local.
        name: String,
        /// Why the loop does not only combine values into it.
        reason: NotCombined,
    },
    /// The body of `block_for` assigns a local that is declared outside it.
    #[error(
        "`{0}` is declared outside this `block_for`, whose blocks run in any order; declare it inside, or combine into an element of a tensor, as in `qd::atomic_add(&mut sums[0], x)`"
    )]
    AssignOutsideBlockFor(String),
    /// A `block_for` that is not a statement at the top level.
    #[error(
        "`block_for` must be a statement at the top level of a kernel or of a `stream_parallel` block; move loops and branches into it"
    )]
    BlockForPlace,
    /// A number of threads that is not a compile-time constant.
    #[error(
        "{0} must be a compile-time constant: literals and constants, combined by `+`, `-`, `*` and `/`"
    )]
    NotConstant(&'static str),
    /// An extent of a shared array that the host cannot evaluate before a launch.
    #[error(
        "the length of a shared array must be known before the launch: integer arguments, extents of tensors and constants, and immutable names of such that are bound before `block_for`, combined by `+`, `-`, `*`, `/` and `%` with a constant, `as`, `min`, `max`, `saturating_sub`, `div_ceil`"
    )]
    SharedExtent,
    /// A phase inside a phase, or outside `block_for`.
    #[error(
        "a phase, `b.each(|t| …)`, must be in the closure of `block_for` and not in another phase; at its end, the threads of the block wait for each other"
    )]
    PhasePlace,
    /// A shared array declared in a loop or phase.
    #[error("a shared array exists once per block; move the `let` out of loops and phases")]
    SharedPlace,
    /// An effect in a `block_for` outside phases.
    #[error(
        "{0} must be in a phase, `b.each(|t| …)`; outside phases, all threads of a block do the same"
    )]
    OutsidePhase(String),
    /// A phase assigns a local that is declared outside it.
    #[error(
        "`{0}` is declared outside this phase, whose threads cannot assign it; declare it inside, or keep a value per thread in a shared array"
    )]
    AssignOutsidePhase(String),
    /// A block used as a scalar.
    #[error("`{0}` is a block of threads; it has `index()`, `threads()`, `shared` and `each`")]
    BlockAsValue(String),
    /// A per-thread value read for another thread than the phase's own.
    #[error(
        "each thread has its own `{0}`; in a phase, read the value of the phase's thread, `{0}[t]` in `b.each(|t| …)`; outside phases, a sum over all threads is `b.reduce_add(|t| …)`"
    )]
    PerThread(String),
    /// A shared array used as a scalar.
    #[error("`{0}` is a shared array; use an element of it, as in `{0}[t]`")]
    SharedAsValue(String),
    /// A write to a `&` parameter.
    #[error(
        "`{0}` is a `&` parameter, which is read-only; to write to it, declare it `{0}: &mut Tensor<…>`"
    )]
    WriteToShared(String),
    /// A tensor used as a scalar.
    #[error("`{0}` is a tensor; use an element of it, as in `{0}[i]`, or pass it to a `#[func]`")]
    TensorAsValue(String),
    /// A shape used as a scalar.
    #[error("`{0}` is a shape; use one extent of it, as in `{0}[0]`")]
    ShapeAsValue(String),
    /// An assignment to an extent.
    #[error(
        "`{0}` is a tensor's shape, which a kernel cannot change; copy the extent into a `let mut`"
    )]
    AssignToShape(String),
    /// An axis that is not a compile-time constant.
    #[error("the axis of a shape must be a literal or a constant: `t.shape()[0]`")]
    ShapeAxis,
    /// `break` out of a parallel loop.
    #[error(
        "`break` cannot leave a parallel loop, whose iterations run in any order; skip the rest of one iteration with `continue`, or guard the work with `if`"
    )]
    BreakParallel,
    /// `break` out of a serial loop over an `ndrange`, or out of a parallel one of more than three dimensions.
    #[error("`break` cannot leave a loop over an `ndrange`; write nested loops over `a..b`")]
    BreakNdrange,
    /// `break` or `continue` outside every loop.
    #[error("`{0}` is outside a loop; remove it, or move it into a loop")]
    OutsideLoop(&'static str),
    /// `return` in a parallel loop.
    #[error(
        "`return` cannot leave a parallel loop, whose iterations run in any order; end one iteration with `continue`"
    )]
    ReturnInLoop,
    /// `return` in a grid of thread blocks, at a place where it is not rewritten to end the phase or the block.
    #[error(
        "`return` cannot end a phase or a block from this place; put the work that follows into an `if`"
    )]
    ReturnInBlocks,
    /// `return` in a `stream_parallel` block.
    #[error(
        "`return` cannot leave a `stream_parallel` block; put the work of the block into an `if`, or, to skip all blocks, write `if … {{ return; }}` before the first one"
    )]
    ReturnInRegionBlock,
    /// `return` after a `stream_parallel` block.
    #[error(
        "a `return` cannot follow a `stream_parallel` block, as all blocks run concurrently; write it before the first one, or put the work of each later block into an `if`"
    )]
    ReturnAfterRegionBlock,
    /// `return` in the bounds of a parallel loop, or in a condition before one.
    #[error(
        "a `return` in a condition or in the bounds of a loop cannot skip the parallel loop at line {0}; bind the value before, with `let`"
    )]
    ReturnBeforeLoop(u32),
    /// `a..=b`
    #[error("`a..=b` is not supported in an `ndrange`; write `a..b + 1`")]
    InclusiveRange,
    /// `#[serial]` on an inner loop.
    #[error("a loop inside another is serial already; leave out `#[serial]`")]
    SerialInside,
    /// `#[unroll]` on a parallel loop.
    #[error(
        "the iterations of a parallel loop are those of threads, and `#[unroll]` is for loops that one thread runs; remove `#[unroll]`"
    )]
    UnrollParallel,
    /// `#[block_size(n)]` on a serial loop.
    #[error("only a parallel loop has blocks; leave out `#[block_size(…)]`")]
    BlockSizeOfSerial,
    /// `#[block_size(n)]` with an unsupported size.
    #[error("a block has 1 to 1024 threads; choose a size in this range")]
    BlockSize,
    /// `step_by(0)`
    #[error("a loop with step 0 never ends; `step_by` must be at least 1")]
    StepOfZero,
    /// A loop or a grid of blocks with an unsupported number of dimensions.
    #[error(
        "a loop has one to six dimensions, and a grid of blocks one to three; nest loops for more"
    )]
    Dimensions,
    /// A block index used as an array although its grid is not an array literal.
    #[error(
        "the extents of a grid of blocks must be an array literal in the call: `block_for([rows, columns], …)`"
    )]
    GridElsewhere,
    /// An `if` without `else` whose value is used.
    #[error("an `if` without `else` has no value; add `else {{ … }}`")]
    IfWithoutElse,
    /// A literal of an unsupported type.
    #[error(
        "literals of type `{0}` are not supported in kernels; use f32, f64 or an integer of up to 64 bits"
    )]
    LiteralType(String),
    /// Two iterations of a parallel loop may write the same element by the same access.
    #[error(
        "iterations {over}may write the same element by `{access}`{reason}; {advice}, or assert in `unsafe {{ … }}` that no two are the same"
    )]
    RaceWithItself {
        /// The access.
        access: String,
        /// The loop's variables: "of `i` ".
        over: String,
        /// Why, if it is known: ": for example, …".
        reason: String,
        /// How to fix it.
        advice: String,
    },
    /// Two iterations of a parallel loop may touch the same element by two accesses, at least one of them a write.
    #[error(
        "one iteration {over}may {verb} `{access}` while another {other_verb} `{other}` (line {line}){reason}; {advice}, or assert in `unsafe {{ … }}` that the two are never the same element"
    )]
    RaceInLoop {
        /// The access at the location of the message.
        access: String,
        /// Its verb, as an infinitive.
        verb: &'static str,
        /// The other access.
        other: String,
        /// Its verb, third person.
        other_verb: &'static str,
        /// The line of the other one.
        line: u32,
        /// The loop's variables: "of `i` ".
        over: String,
        /// Why, if it is known: ": for example, …".
        reason: String,
        /// How to fix it.
        advice: String,
    },
    /// Two `stream_parallel` blocks may touch the same element, at least one of them writing.
    #[error(
        "this `stream_parallel` block may {verb} `{access}` while the one at line {block} {other_verb} `{other}` (line {line}){reason}; put both into one block, where loops run one after the other, give each block a tensor of its own, or assert in `unsafe {{ … }}` that the two are never the same element"
    )]
    RaceOfRegionBlocks {
        /// The access at the location of the message.
        access: String,
        /// Its verb, as an infinitive.
        verb: &'static str,
        /// The access of the other block.
        other: String,
        /// Its verb, third person.
        other_verb: &'static str,
        /// The line of the other one.
        line: u32,
        /// The line of the other block.
        block: u32,
        /// Why, if it is known: ": …".
        reason: String,
    },
    /// An expression that nests too deep for the stack.
    #[error("this expression is nested too deeply; split it with `let`s")]
    TooDeep,
    /// Unsupported syntax.
    #[error("{}", advice(.0))]
    Unsupported(Construct),
}

/// Why a parallel loop does not only combine values into a local that is declared outside of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotCombined {
    /// A `let` in the loop has the same name.
    Hidden {
        /// The line of the `let`.
        line: u32,
    },
    /// The loop also uses the local otherwise.
    Use {
        /// The line of the first such use.
        line: u32,
    },
    /// The loop combines into the local by several operations.
    Mixed {
        /// The line of the second operation.
        line: u32,
    },
    /// The loop assigns an element whose index is no literal.
    Part {
        /// Whether it is an element of a field.
        of_field: bool,
    },
    /// An operation that loops do not combine by; its symbol.
    Operator(&'static str),
    /// An assignment that does not depend on the earlier value.
    Last,
    /// An assignment under a comparison with the local, in another form than a selection has.
    Selection,
    /// The right side of `&&` or `||`, which is evaluated in every iteration, has an effect.
    Effect,
    /// An assignment of another form.
    Form,
}

impl NotCombined {
    fn text(&self, name: &str) -> String {
        match self {
            Self::Hidden { line } => {
                format!("line {line} declares another `{name}`, so give one of them another name")
            }
            Self::Use { line } => {
                format!("line {line} uses it, and would see the values of some iterations only")
            }
            Self::Mixed { line } => {
                format!("line {line} combines into it in another way, and the order would matter")
            }
            Self::Part { of_field: true } => format!(
                "each iteration chooses the element; if `{name}` is a struct of tensors, take it by reference: `{name}: &mut …`"
            ),
            Self::Part { of_field: false } => {
                "each iteration chooses the element, for which tensors have atomics: `qd::atomic_add(&mut t[k], x)`"
                    .to_owned()
            }
            Self::Operator("*") => {
                "values cannot be combined by `*`; add logarithms, `log += x.ln()`, of which `exp` is the product of \
                 positive numbers"
                    .to_owned()
            }
            Self::Operator(symbol) => format!("values cannot be combined by `{symbol}`"),
            Self::Last => "it would be left with the value of an unspecified iteration".to_owned(),
            Self::Selection => format!(
                "a selection is `if x < {name} {{ {name} = x; at = i; }}` in a loop over `begin..end` or `ndrange`, not by `rev` or `step_by`, without `else`, where no other statement uses what it assigns"
            ),
            Self::Effect => "the right side of `&&` and `||` is evaluated in every iteration, so it must have no effect".to_owned(),
            Self::Form => {
                "this assignment is none of the forms that combine in any order".to_owned()
            }
        }
    }
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.span.line, self.rule)
    }
}

fn advice(construct: &Construct) -> String {
    let (what, instead) = match construct {
        Construct::MatchPattern => (
            "a `match` on this is",
            "match a number, a bool, an enum, or a tuple or struct of them, by literals, ranges, constants, names and \
             `_`, or write `if`",
        ),
        Construct::LetCondition => (
            "`let … else` and `let` in a part of a condition are",
            "use `match`, or `if let` with one pattern",
        ),
        Construct::Closure => (
            "this closure is",
            "bind it by `let` and only call it; it cannot have `move`, and the locals that it uses cannot \
             be declared again before a call; or write a `#[func]`",
        ),
        Construct::StructUpdate => (
            "`..` without a value is",
            "write out all fields, or give the value that has the others: `..base`",
        ),
        Construct::BlockFor => (
            "`block_for` of this is",
            "write `block_for(blocks, threads, |b| { … })`; of a grid, `[rows, columns]`",
        ),
        Construct::Phase => ("`each` of this is", "write `b.each(|t| { … })`"),
        Construct::Shared => {
            ("`shared` here is", "bind it to a name: `let mut tile = b.shared::<f32>(256);`")
        }
        Construct::Collective(name) => {
            let value = if name == "shuffle" { "(value, from)" } else { "value" };
            let by = if name.starts_with("shuffle_") { ", by" } else { "" };
            return format!(
                "`{name}` here is not supported in kernels; bind it to a name: `let name = b.{name}(|t| {value}{by});`"
            );
        }
        Construct::Text => ("text literals are", "use numbers and bools"),
        Construct::Reference => {
            ("references and `*` are", "use values; a tensor is passed to a `#[func]` by its name")
        }
        Construct::LoopAttribute => (
            "this attribute of a loop is",
            "use `#[serial]`, `#[unroll]`, `#[unroll(n)]` or `#[block_size(n)]`",
        ),
        Construct::Iterator => (
            "a `for` over this is",
            "loop over `a..b`, its `rev` and `step_by`, or `ndrange(…)`, and inside a loop also over an array or vector",
        ),
        Construct::IteratorChain => {
            ("iterators are", "write a loop: `let mut sum = 0.0; for k in 0..n { sum += x[k]; }`")
        }
        Construct::Range => ("ranges outside a `for` are", "keep begin and end in two `let`s"),
        Construct::Pattern => {
            ("this pattern is", "bind names, `_`, `..` and parts of tuples, arrays and structs")
        }
        Construct::LetWithoutValue => {
            ("a `let` without a value is", "give it a value: `let mut x = 0;`")
        }
        Construct::Try => ("`?` is", "use `assert!` for what must not fail"),
        Construct::BlockKind => (
            "this kind of block is",
            "use a plain block; in a block with a label, `break` and `continue` need a label",
        ),
        Construct::Item => ("items other than `const` are", "move this out of the function"),
        Construct::Macro(name) if name == "matches" => {
            return "`matches!` takes a value and a pattern: `matches!(x, 0 | 1)`".to_owned();
        }
        Construct::Macro(name) if MACROS.contains(&name.as_str()) => {
            return format!("`{name}!` has no value here; write it as a statement of its own");
        }
        Construct::Macro(name) => {
            return format!(
                "`{name}!` is not supported in kernels; they have {}, and your own macros with `#[func]` at their definition",
                MACROS.map(|name| format!("`{name}!`")).join(", ")
            );
        }
        Construct::Format(what) => return what.clone(),
        Construct::Method(name) | Construct::Associated(name) if is_conversion(name) => {
            return format!(
                "`{name}` is not supported in kernels; convert numbers with `as`: `x as i32`"
            );
        }
        Construct::Associated(name) => {
            return format!(
                "`{name}` is not a supported associated function in kernels; write a `#[func]` and call it"
            );
        }
        Construct::Method(name) => {
            return format!(
                "the method `{name}` is not supported in kernels; use a method of floats such as `sqrt`, `abs`, `min`, `max`, or write a `#[func]`"
            );
        }
        Construct::Shape => (
            "`shape()` here is",
            "use one extent, `t.shape()[0]`, or bind it first: `let [h, w] = t.shape();`",
        ),
        Construct::Place => {
            ("an assignment to this is", "assign a `let mut` or an element of a tensor")
        }
        Construct::InferredCast => ("`as _` is", "write the type"),
        Construct::AtomicTarget => {
            ("an atomic on this is", "give it an element of a tensor: `&mut t[i]`")
        }
        Construct::Ndrange => {
            ("`ndrange` here is", "write `for (i, j) in ndrange(…)`, with up to six dimensions")
        }
        Construct::Other(text) => {
            return format!(
                "`{text}` is not supported in kernels; use the expressions of scalars and tensors"
            );
        }
    };
    format!("{what} not supported in kernels; {instead}")
}

/// Whether a method of std converts a value, possibly with an error.
fn is_conversion(name: &str) -> bool {
    ["into", "parse", "try_from", "try_into"].contains(&name)
}
