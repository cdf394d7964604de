//! Prints coarsened loops, as their schedule says. Each statement is printed for all iterations of a thread
//! before the next one, so that their loads overlap. If fewer iterations are left, and if the grid has only one thread,
//! iterations run one by one in order.

use quadrants_ir::{
    BlockId, Element, ExprId, LocalId, LoopDim, ScalarType, Stmt, Task, abi::Form,
    schedule::split_at_stores,
};

use super::{
    helpers::Helper,
    speculate::Speculation,
    task::{AXES, PrintedDim, TaskPrinter},
};

/// The counter of a coarsened loop, from 0 on: its type, the suffix of its literals, its name, and the name of its
/// upper bound.
struct LoopCounter {
    ty: &'static str,
    suffix: &'static str,
    name: String,
    count: String,
}

impl TaskPrinter<'_> {
    /// Prints the loops of a task whose threads execute several iterations together.
    pub(super) fn coarsened_loop(&mut self, dims: &[LoopDim], loops: &[PrintedDim], task: &Task) {
        let (factor, body) = (task.schedule.coarsening, task.body);
        if let ([dim], Some(read)) = (dims, task.schedule.vector_load) {
            self.in_privatization_branches(&mut |this| {
                this.vector_loads(dim, &loops[0], factor, read, body)
            });
        } else if let [dim] = dims {
            self.strided_iterations(dim, &loops[0], factor, body);
        } else {
            self.adjacent_iterations(dims, loops, factor, body);
        }
    }

    /// One dimension: a thread's iterations are strided by the number of threads, so that adjacent threads access
    /// adjacent elements. A 32-bit counter does not overflow: it is below 2^30 where several iterations run together,
    /// and the number of threads is below 2^31 where one does.
    fn strided_iterations(
        &mut self,
        dim: &LoopDim,
        printed: &PrintedDim,
        factor: u32,
        body: BlockId,
    ) {
        let LoopCounter { ty, suffix, name: counter, count } = self.counter(printed);
        let (thread_index, size) = self.position('x');
        let step = self.fresh("threads");
        let can_speculate = self.speculation_condition(body);
        self.line(&format!("const {ty} {step} = {size};"));
        self.open(&format!("for ({ty} {counter} = {thread_index}; {counter} < {count};) {{"));
        let last = factor - 1;
        self.open(&format!(
            "if ({step} > 1{suffix} && {counter} + {last}ull * {step} < {count}{can_speculate}) {{"
        ));
        let at = |copy: u32| match copy {
            0 => counter.clone(),
            1 => format!("{counter} + {step}"),
            _ => format!("{counter} + {copy}{suffix} * {step}"),
        };
        let flags = self.interleaved(dim.var, printed, factor, &at, body);
        if !flags.is_empty() {
            let at = |copy: &str| format!("{counter} + {copy} * {step}");
            self.failed_iterations(dim.var, printed, &flags, &at, body);
        }
        self.line(&format!("{counter} += {factor}{suffix} * {step};"));
        self.otherwise();
        match self.has_narrow_counters() {
            true => self.narrow_loop_variable(printed, dim.var, &counter),
            false => self.variable(printed),
        }
        self.block(body);
        self.narrow_counters.remove(&dim.var);
        self.line(&format!("{counter} += {step};"));
        self.close();
        self.close();
    }

    /// The counter of a coarsened loop. With 64 bits it may be the loop variable itself.
    fn counter(&mut self, printed: &PrintedDim) -> LoopCounter {
        if !self.has_narrow_counters() {
            let (name, count) = (printed.counter.clone(), printed.count.clone());
            return LoopCounter { ty: "u64", suffix: "ull", name, count };
        }
        let name = self.fresh(&format!("{}_narrow", printed.counter));
        let count = self.fresh(&format!("{}_end", printed.counter));
        self.line(&format!("const u32 {count} = (u32){};", printed.count));
        LoopCounter { ty: "u32", suffix: "u", name, count }
    }

    /// The position of the thread along an axis of the grid, and the number of threads, in the counters' type.
    fn position(&mut self, axis: char) -> (String, String) {
        if self.has_narrow_counters() {
            let first = format!("(blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis})");
            return (first, format!("(gridDim.{axis} * blockDim.{axis})"));
        }
        let [first, size] =
            [Helper::Thread(axis), Helper::Threads(axis)].map(|helper| self.helper(helper));
        (format!("{first}()"), format!("{size}()"))
    }

    /// One dimension with vector loads of narrow elements, from the first aligned address on. The elements before it
    /// and after the last whole vector are loaded one by one, and all elements if there is only one thread.
    fn vector_loads(
        &mut self,
        dim: &LoopDim,
        printed: &PrintedDim,
        factor: u32,
        read: ExprId,
        body: BlockId,
    ) {
        let kernel = self.kernel;
        let element = kernel.exprs[read].kind.element();
        let Some(tensor) = element.and_then(Element::tensor) else { return };
        let elem = kernel.exprs[read].ty;
        let (counter, count) = (&printed.counter, &printed.count);
        let thread_index = self.helper(Helper::Thread('x'));
        let size = self.helper(Helper::Threads('x'));
        let words = self.helper(Helper::Words);
        let tensor = self.param(tensor);
        let [step, before, whole, word, rest] =
            ["threads", "before", "words", "word", "rest"].map(|name| self.fresh(name));
        let first = printed.value("0ull");
        let bytes = elem.size();
        self.line(&format!("const u64 {step} = {size}();"));
        self.line(&format!(
            "const u64 {before} = (0ull - (u64)&{tensor}[{first}]) % 16ull / {bytes}ull;"
        ));
        self.line(&format!(
            "const u64 {whole} = {step} > 1ull && {count} > {before} ? ({count} - {before}) / {factor}ull : 0ull;"
        ));
        self.open(&format!(
            "for (u64 {word} = {thread_index}(); {word} < {whole}; {word} += {step}) {{"
        ));
        let at = printed.value(&format!("({before} + {word} * {factor}ull)"));
        let elements = self.fresh("elements");
        self.line(&format!("const {words} {elements} = *(const {words}*)&{tensor}[{at}];"));
        let (outer, known) = (self.locals.clone(), self.divisions.clone());
        let each = 4 / bytes as u32;
        for stmt in &kernel.blocks[body].stmts {
            if let Stmt::Let { local, .. } = stmt {
                self.locals.remove(local);
            }
        }
        let mut all = vec![self.locals.clone(); factor as usize];
        for stmt in &kernel.blocks[body].stmts {
            for (copy, locals) in (0..factor).zip(&mut all) {
                std::mem::swap(&mut self.locals, locals);
                let bits = 8 * bytes as u32 * (copy % each);
                let part = format!("{elements}.parts[{}] >> {bits}", copy / each);
                let value = match elem {
                    ScalarType::Bool => format!("({part} & 255u) != 0u"),
                    _ => format!("({})({part})", elem.name()),
                };
                self.preloaded.insert(read, value);
                self.stmt(stmt);
                std::mem::swap(&mut self.locals, locals);
            }
        }
        self.preloaded.clear();
        (self.locals, self.divisions) = (outer, known);
        self.close();
        self.line(&format!("const u64 {rest} = {count} - {factor}ull * {whole};"));
        let own = self.fresh(counter);
        self.open(&format!(
            "for (u64 {own} = {thread_index}(); {own} < {rest}; {own} += {step}) {{"
        ));
        let at = format!("({own} < {before} ? {own} : {own} + {factor}ull * {whole})");
        let outer = self.locals.clone();
        self.define_loop_var(dim.var, printed, &at);
        self.block(body);
        self.locals = outer;
        self.close();
    }

    /// Several dimensions: a thread's iterations are adjacent in the outermost one. 32-bit counters do not overflow: a
    /// thread executes several iterations together only if there are at most 2^26 threads along the outermost
    /// dimension, and the counter is below 2^30.
    fn adjacent_iterations(
        &mut self,
        dims: &[LoopDim],
        loops: &[PrintedDim],
        factor: u32,
        body: BlockId,
    ) {
        let axes = AXES[dims.len().min(3)];
        let LoopCounter { ty, suffix, name: counter, count } = self.counter(&loops[0]);
        let (thread_index, size) = self.position(axes[0]);
        let (_, width) = self.position('x');
        let [threads, each] = ["threads", "each"].map(|name| self.fresh(name));
        self.line(&format!("const {ty} {threads} = {size};"));
        let few =
            if ty == "u32" { format!(" && {threads} <= {}u", 1 << 26) } else { String::new() };
        self.line(&format!(
            "const {ty} {each} = {threads} < {count}{few} && {width} > 1{suffix} ? {factor}{suffix} : 1{suffix};"
        ));
        self.open(&format!(
            "for ({ty} {counter} = {thread_index} * {each}; {counter} < {count}; {counter} += {threads} * {each}) {{"
        ));
        for ((printed, dim), &axis) in loops.iter().zip(dims).zip(axes).skip(1) {
            match self.has_narrow_counters() {
                true => self.open_narrow_loop(printed, dim.var, &Helper::Thread(axis)),
                false => self.open_loop(printed, [Helper::Thread(axis), Helper::Threads(axis)]),
            }
        }
        let last = factor - 1;
        self.open(&format!("if ({each} > 1{suffix} && {counter} + {last}{suffix} < {count}) {{"));
        let at = |copy: u32| match copy {
            0 => counter.clone(),
            _ => format!("{counter} + {copy}{suffix}"),
        };
        self.interleaved(dims[0].var, &loops[0], factor, &at, body);
        self.otherwise();
        let outer = self.locals.clone();
        let own = self.fresh(&counter);
        self.open(&format!(
            "for ({ty} {own} = {counter}; {own} < {count} && {own} < {counter} + {each}; {own}++) {{"
        ));
        self.define_loop_var(dims[0].var, &loops[0], &own);
        self.block(body);
        self.narrow_counters.remove(&dims[0].var);
        self.close();
        self.locals = outer;
        self.close();
        for _ in dims {
            self.close();
        }
    }

    /// Prints the body for several iterations, statement by statement. `at` returns the counter of each iteration.
    /// Checked iterations run speculatively: returns the variables that record that an index was out of range.
    fn interleaved(
        &mut self,
        var: LocalId,
        printed: &PrintedDim,
        factor: u32,
        at: &dyn Fn(u32) -> String,
        body: BlockId,
    ) -> Vec<String> {
        let kernel = self.kernel;
        let (outer, known) = (self.locals.clone(), self.divisions.clone());
        let wide = kernel.locals[var].ty == ScalarType::U64;
        let mut each = Vec::new();
        for copy in 0..factor {
            self.locals = outer.clone();
            self.define_loop_var(var, printed, &at(copy));
            each.push(std::mem::take(&mut self.locals));
        }
        let first = each[0][&var].clone();
        // In one dimension the iterations have no constant distance.
        let adjacent =
            wide && kernel.tasks[self.task.index()].kind.dims().is_some_and(|d| d.len() > 1);
        let stmts = &kernel.blocks[body].stmts;
        let (flags, (before, stores)) = match self.cx.form {
            Form::Proven => (Vec::new(), (&stmts[..], &[][..])),
            Form::Checked => {
                (each.iter().map(|_| self.fresh("beyond")).collect(), split_at_stores(stmts))
            }
        };
        for flag in &flags {
            self.line(&format!("bool {flag} = false;"));
        }
        for stmt in before {
            for (copy, locals) in each.iter_mut().enumerate() {
                std::mem::swap(&mut self.locals, locals);
                if self.has_narrow_counters() {
                    self.narrow_counters.insert(var, self.locals[&var].clone());
                }
                if adjacent {
                    self.offset_vars.insert(var, (first.clone(), copy as i64));
                }
                self.speculation = flags.get(copy).cloned().map(Speculation::new);
                self.stmt(stmt);
                std::mem::swap(&mut self.locals, locals);
            }
        }
        for (locals, flag) in each.iter_mut().zip(&flags) {
            std::mem::swap(&mut self.locals, locals);
            self.speculation = Some(Speculation::new(flag.clone()));
            self.speculative_stores(stores, flag);
            std::mem::swap(&mut self.locals, locals);
        }
        self.speculation = None;
        self.offset_vars.clear();
        self.narrow_counters.remove(&var);
        (self.locals, self.divisions) = (outer, known);
        flags
    }

    /// Runs the iterations again in which an index was out of range, with reports. `at` returns the counter of an
    /// iteration by its number, an expression.
    fn failed_iterations(
        &mut self,
        var: LocalId,
        printed: &PrintedDim,
        flags: &[String],
        at: &dyn Fn(&str) -> String,
        body: BlockId,
    ) {
        let [failed, copy] = ["failed", "copy"].map(|name| self.fresh(name));
        let bits = flags.iter().enumerate();
        let bits = bits.map(|(bit, flag)| format!("(u32){flag} << {bit}u"));
        self.line(&format!("const u32 {failed} = {};", bits.collect::<Vec<_>>().join(" | ")));
        let outer = self.locals.clone();
        self.open(&format!("if ({failed} != 0u) {{"));
        self.line("#pragma unroll 1");
        self.open(&format!("for (u32 {copy} = 0u; {copy} < {}u; {copy}++) {{", flags.len()));
        self.open(&format!("if (({failed} >> {copy} & 1u) != 0u) {{"));
        self.define_loop_var(var, printed, &at(&format!("(u64){copy}")));
        self.block(body);
        self.close();
        self.close();
        self.close();
        self.locals = outer;
    }

    /// Defines the loop variable for the iteration with this counter.
    fn define_loop_var(&mut self, var: LocalId, printed: &PrintedDim, counter: &str) {
        let name = self.fresh(&self.kernel.locals[var].name);
        if self.has_narrow_counters() {
            self.locals.insert(var, name.clone());
            return self.narrow_variable(printed, var, &name, counter);
        }
        let ty = self.kernel.locals[var].ty.name();
        let value = printed.value(counter);
        self.line(&format!("const {ty} {name} = {value};"));
        self.locals.insert(var, name);
    }
}
