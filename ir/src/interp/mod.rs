//! The reference interpreter. It defines the meaning of tasks, and runs them on any [`Memory`].
//!
//! Tasks are compiled once to typed register code. Device errors go to the [error record](crate::abi::ErrorRecord),
//! which keeps the first.

mod compile;
mod fold;
mod machine;
mod memory;
mod partial;
mod place;
mod record;
mod select;
mod shared;

use std::ops::Range;

use smallvec::SmallVec;

use crate::{
    Const, Offloaded, ScalarType, TaskId,
    abi::{self, ArgLayout, Form},
    extents::Extents,
};

use machine::Run;

pub(crate) use compile::{Code, CodePart, compile, compile_locals};
use compile::{DimRegs, Threads};
pub(crate) use fold::fold;
pub use memory::{ExecFault, Memory, SliceMemory};

/// The register code of a kernel's tasks.
///
/// Requires a kernel that passes [`verify_offloaded`](crate::verify_offloaded).
#[derive(Debug)]
pub struct Interpreter {
    arguments: usize,
    tasks: Vec<CompiledForms>,
    fuel: u64,
}

#[derive(Debug)]
struct CompiledForms {
    proven: Code,
    checked: Code,
    /// The word of the loop's interior in the argument block of the checked form.
    interior: Range<usize>,
}

impl Interpreter {
    /// Compiles all tasks of a kernel.
    #[must_use]
    pub fn new(kernel: &Offloaded) -> Self {
        let layout = ArgLayout::new(&kernel.params);
        let tasks = kernel.tasks().map(|(id, task)| {
            let interior = abi::interior_word(kernel, id);
            CompiledForms {
                proven: compile(kernel, &layout, task, CodePart::Whole(Form::Proven)),
                checked: compile(kernel, &layout, task, CodePart::Whole(Form::Checked)),
                interior: interior..interior + abi::interior_words(&task.kind),
            }
        });
        Self { arguments: layout.len(), tasks: tasks.collect(), fuel: u64::MAX }
    }

    /// Limits each run to `rounds` iterations in total, of parallel and inner loops.
    #[must_use]
    pub fn with_fuel(mut self, rounds: u64) -> Self {
        self.fuel = rounds;
        self
    }

    /// Runs a whole task. In the checked form, an argument block without interiors means that they are empty.
    ///
    /// # Errors
    /// See [`run_range`](Self::run_range).
    pub fn run_task<M: Memory>(
        &self,
        task: TaskId,
        form: Form,
        args: &[u64],
        memory: &mut M,
    ) -> Result<(), ExecFault> {
        self.run_range(task, form, args, memory, 0..u64::MAX)
    }

    /// The bounds of a task's loop as computed on the device, with temporaries read from `memory`. Empty for a serial
    /// task.
    ///
    /// # Errors
    /// See [`run_range`](Self::run_range).
    pub fn extents<M: Memory>(
        &self,
        task: TaskId,
        args: &[u64],
        memory: &mut M,
    ) -> Result<Extents, ExecFault> {
        let (code, args) = self.code(task, Form::Proven, args)?;
        let mut regs = code.start.clone();
        code.pass_arguments(args, &mut regs);
        let mut run =
            Run { regs: &mut regs, memory, task: task.raw(), fuel: self.fuel, shared: Vec::new() };
        machine::run(&code.prelude, &mut run)?;
        Ok(code.extents_in(|reg| run.regs[reg]))
    }

    /// Runs a range of a task's iterations, numbered from 0 in row-major order. A serial task has one iteration.
    ///
    /// # Errors
    /// [`ExecFault::Address`] if `memory` rejects an access, [`ExecFault::OutOfFuel`] at the limit,
    /// [`ExecFault::Arguments`] and [`ExecFault::NoTask`] for invalid arguments of this call. Effects up to that point
    /// remain in memory.
    pub fn run_range<M: Memory>(
        &self,
        task: TaskId,
        form: Form,
        args: &[u64],
        memory: &mut M,
        iterations: Range<u64>,
    ) -> Result<(), ExecFault> {
        let (code, arguments) = self.code(task, form, args)?;
        let mut regs = code.start.clone();
        code.pass_arguments(arguments, &mut regs);
        let mut run =
            Run { regs: &mut regs, memory, task: task.raw(), fuel: self.fuel, shared: Vec::new() };
        machine::run(&code.prelude, &mut run)?;
        let interior = match form {
            Form::Checked => {
                args.get(self.tasks[task.index()].interior.clone()).unwrap_or_default()
            }
            Form::Proven => &[],
        };
        match &code.dims {
            None if iterations.contains(&0) => {
                machine::consume_fuel(&mut run.fuel)?;
                machine::run(&code.body, &mut run)
            }
            None => Ok(()),
            Some(dims) => {
                let extents = code.extents_in(|reg| run.regs[reg]);
                if let Some(site) = code.bounds_site
                    && extents.exceed_max_bound()
                {
                    let counts: SmallVec<[u64; 3]> = extents.counts().collect();
                    return record::report(run.regs, run.memory, run.task, site.raw(), &counts);
                }
                let mut cursor = IterationCursor::new(&extents, &iterations);
                if !is_empty(interior) {
                    let proven = &self.tasks[task.index()].proven;
                    return run_split(code, proven, arguments, interior, cursor, run);
                }
                run.iterations(code, dims, &mut cursor)?;
                machine::run(&code.threads.finish, &mut run)
            }
        }
    }

    fn code<'a>(
        &self,
        task: TaskId,
        form: Form,
        args: &'a [u64],
    ) -> Result<(&Code, &'a [u64]), ExecFault> {
        let forms = self.tasks.get(task.index()).ok_or(ExecFault::NoTask { task: task.raw() })?;
        let (needed, found) = (self.arguments, args.len());
        let args = args.get(..needed).ok_or(ExecFault::Arguments { needed, found })?;
        let code = match form {
            Form::Proven => &forms.proven,
            Form::Checked => &forms.checked,
        };
        Ok((code, args))
    }
}

/// Runs iterations. Those in the interior run unchecked code.
fn run_split<M: Memory>(
    checked: &Code,
    proven: &Code,
    arguments: &[u64],
    interior: &[u64],
    mut cursor: IterationCursor,
    run: Run<'_, M>,
) -> Result<(), ExecFault> {
    let Run { regs, memory, task, mut fuel, .. } = run;
    let mut regs_inside = proven.start.clone();
    proven.pass_arguments(arguments, &mut regs_inside);
    let mut run = Run { regs: &mut regs_inside, memory, task, fuel, shared: Vec::new() };
    machine::run(&proven.prelude, &mut run)?;
    while cursor.left > 0 {
        let (code, regs) = if cursor.is_in(interior, checked.dims.as_deref().unwrap_or_default()) {
            (proven, &mut regs_inside[..])
        } else {
            (checked, &mut *regs)
        };
        let mut run = Run { regs, memory, task, fuel, shared: Vec::new() };
        run.iteration(code, code.dims.as_deref().unwrap_or_default(), &cursor)?;
        fuel = run.fuel;
        cursor.step();
    }
    for (code, regs) in [(proven, &mut regs_inside[..]), (checked, &mut *regs)] {
        let mut run = Run { regs, memory, task, fuel, shared: Vec::new() };
        machine::run(&code.threads.finish, &mut run)?;
    }
    Ok(())
}

fn is_empty(interior: &[u64]) -> bool {
    interior.is_empty() || interior.chunks_exact(2).any(|dim| dim[0] == dim[1])
}

impl<M: Memory> Run<'_, M> {
    /// Runs all iterations. In coarsened loops several run together, statement by statement.
    fn iterations(
        &mut self,
        code: &Code,
        dims: &[DimRegs],
        cursor: &mut IterationCursor,
    ) -> Result<(), ExecFault> {
        let Threads { coarsening, statements, first, .. } = &code.threads;
        let mut copies = Vec::new();
        while *coarsening > 1 && cursor.left >= *coarsening as u64 {
            copies.resize_with(*coarsening, || (Vec::new(), [0; 3]));
            for (registers, vars) in &mut copies {
                registers.clear();
                registers.extend_from_slice(&self.regs[*first..]);
                for (at, dim) in dims.iter().enumerate() {
                    vars[at] = cursor.value(at, dim.ty);
                }
                machine::consume_fuel(&mut self.fuel)?;
                cursor.step();
            }
            let mut start = 0;
            for &end in statements {
                for (registers, vars) in &mut copies {
                    self.regs[*first..].swap_with_slice(registers);
                    for (dim, value) in dims.iter().zip(vars) {
                        self.regs[dim.var as usize] = *value;
                    }
                    let done = machine::run_from(&code.body[..end], start, self);
                    self.regs[*first..].swap_with_slice(registers);
                    done?;
                }
                start = end;
            }
        }
        while cursor.left > 0 {
            self.iteration(code, dims, cursor)?;
            cursor.step();
        }
        Ok(())
    }

    fn iteration(
        &mut self,
        code: &Code,
        dims: &[DimRegs],
        cursor: &IterationCursor,
    ) -> Result<(), ExecFault> {
        for (at, dim) in dims.iter().enumerate() {
            self.regs[dim.var as usize] = cursor.value(at, dim.ty);
        }
        self.shared.clear();
        machine::consume_fuel(&mut self.fuel)?;
        machine::run(&code.body, self)
    }
}

impl Code {
    /// The bounds, computed from an argument block with all parameters. Empty for a serial task.
    pub(crate) fn extents(&self, args: &[u64]) -> Extents {
        if self.prelude.is_empty() {
            // Every bound is a parameter or a constant, so no code needs to run.
            let mask_of = |reg| self.masks.iter().find(|(masked, _)| *masked as usize == reg);
            return self.extents_in(|reg| match args.get(reg) {
                Some(word) => *word & mask_of(reg).map_or(u64::MAX, |(_, mask)| *mask),
                None => self.start[reg],
            });
        }
        let regs = self.prelude_registers(args);
        self.extents_in(|reg| regs[reg])
    }

    /// The registers after the prelude of code that does not access memory.
    pub(crate) fn prelude_registers(&self, args: &[u64]) -> SmallVec<[u64; 64]> {
        let mut regs: SmallVec<[u64; 64]> = SmallVec::from_slice(&self.start);
        self.pass_arguments(args, &mut regs);
        let mut run = Run {
            regs: &mut regs,
            memory: &mut NoMemory,
            task: 0,
            fuel: u64::MAX,
            shared: Vec::new(),
        };
        // No access to memory, so this cannot fail.
        let _ = machine::run(&self.prelude, &mut run);
        regs
    }

    fn pass_arguments(&self, args: &[u64], regs: &mut [u64]) {
        regs[..args.len()].copy_from_slice(args);
        for &(reg, mask) in &self.masks {
            regs[reg as usize] &= mask;
        }
    }

    #[inline(always)]
    fn extents_in(&self, regs: impl Fn(usize) -> u64) -> Extents {
        let mut extents = Extents::default();
        for dim in self.dims.iter().flatten() {
            let value = |reg: u32| Const::from_bits(dim.ty, regs(reg as usize)).as_int();
            extents.push(value(dim.begin).unwrap_or(0), value(dim.end).unwrap_or(0));
        }
        extents
    }
}

/// Memory without valid addresses.
struct NoMemory;

impl Memory for NoMemory {
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, ExecFault> {
        Err(ExecFault::Address { address, bytes, write: false })
    }

    fn store(&mut self, address: u64, bytes: usize, _: u64) -> Result<(), ExecFault> {
        Err(ExecFault::Address { address, bytes, write: true })
    }
}

/// Iterates over a range of iterations in row-major order.
struct IterationCursor {
    begins: [u64; 3],
    counts: [u64; 3],
    at: [u64; 3],
    rank: usize,
    left: u64,
}

impl IterationCursor {
    fn new(extents: &Extents, iterations: &Range<u64>) -> Self {
        let end = iterations.end.min(extents.iterations());
        let mut cursor = Self {
            begins: [0; 3],
            counts: [0; 3],
            at: [0; 3],
            rank: extents.dims().len(),
            left: end.saturating_sub(iterations.start),
        };
        if cursor.left == 0 {
            return cursor;
        }
        let mut rest = iterations.start;
        for (i, &(begin, end)) in extents.dims().iter().enumerate().rev() {
            cursor.begins[i] = begin as u64;
            cursor.counts[i] = (end - begin) as u64;
            cursor.at[i] = rest % cursor.counts[i];
            rest /= cursor.counts[i];
        }
        cursor
    }

    #[inline(always)]
    fn value(&self, dim: usize, ty: ScalarType) -> u64 {
        Const::from_bits(ty, self.begins[dim].wrapping_add(self.at[dim])).bits()
    }

    fn is_in(&self, interior: &[u64], dims: &[DimRegs]) -> bool {
        dims.iter().zip(interior.chunks_exact(2)).enumerate().all(|(at, (dim, bounds))| {
            let [begin, end] = [bounds[0], bounds[1]].map(|bound| Const::from_bits(dim.ty, bound));
            let value = Const::from_bits(dim.ty, self.value(at, dim.ty)).as_int();
            value >= begin.as_int() && value < end.as_int()
        })
    }

    #[inline(always)]
    fn step(&mut self) {
        self.left -= 1;
        for dim in (0..self.rank).rev() {
            self.at[dim] += 1;
            if self.at[dim] < self.counts[dim] {
                return;
            }
            self.at[dim] = 0;
        }
    }
}
