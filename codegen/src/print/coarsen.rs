//! Loops whose threads take some iterations at once, as [`Coarsening`] says: statement by statement, each for all of them, so
//! that what they read is under way together. Where fewer are left, a thread takes them one by one; and so
//! does one that is alone, in order.

use quadrants_ir::{BlockId, Coarsening, ExprId, ExprKind, LocalId, LoopDim, ScalarType, Stmt};

use super::{
    helpers::Helper,
    task::{AXES, Bounds, TaskPrinter},
    types,
};

impl TaskPrinter<'_> {
    /// The loops of a task whose threads take `batch.lanes` iterations at once.
    pub(super) fn in_batches(
        &mut self,
        dims: &[LoopDim],
        loops: &[Bounds],
        batch: Coarsening,
        body: BlockId,
    ) {
        if let ([dim], Some(read)) = (dims, batch.words) {
            self.by_scatter(&mut |this| this.by_words(dim, &loops[0], batch.lanes, read, body));
        } else if let [dim] = dims {
            self.apart(dim, &loops[0], batch.lanes, body);
        } else {
            self.neighbours(dims, loops, batch.lanes, body);
        }
    }

    /// One dimension: as far apart as there are threads, so that threads beside each other touch what lies beside
    /// each other.
    fn apart(&mut self, dim: &LoopDim, bounds: &Bounds, lanes: u32, body: BlockId) {
        let (counter, count) = (&bounds.counter, &bounds.count);
        let place = self.helper(Helper::Thread('x'));
        let size = self.helper(Helper::Threads('x'));
        let step = self.fresh("threads");
        self.line(&format!("const u64 {step} = {size}();"));
        self.open(&format!("for (u64 {counter} = {place}(); {counter} < {count};) {{"));
        let last = u64::from(lanes - 1);
        self.open(&format!("if ({step} > 1ull && {counter} + {last}ull * {step} < {count}) {{"));
        let at = |lane: u32| match lane {
            0 => counter.clone(),
            1 => format!("{counter} + {step}"),
            _ => format!("{counter} + {lane}ull * {step}"),
        };
        self.lanes(dim.var, bounds, lanes, &at, body);
        self.line(&format!("{counter} += {lanes}ull * {step};"));
        self.otherwise();
        self.variable(bounds);
        self.block(body);
        self.line(&format!("{counter} += {step};"));
        self.close();
        self.close();
    }

    /// One dimension, whose narrow elements a thread reads by words from the first address on that is even: those before
    /// it, those behind the last word, and where a thread is alone all of them, are read one by one.
    fn by_words(
        &mut self,
        dim: &LoopDim,
        bounds: &Bounds,
        lanes: u32,
        read: ExprId,
        body: BlockId,
    ) {
        let kernel = self.kernel;
        let ExprKind::Load { tensor, .. } = kernel.exprs[read].kind else { return };
        let elem = kernel.exprs[read].ty;
        let (counter, count) = (&bounds.counter, &bounds.count);
        let place = self.helper(Helper::Thread('x'));
        let size = self.helper(Helper::Threads('x'));
        let words = self.helper(Helper::Words);
        let tensor = self.param(tensor);
        let [step, before, whole, word, rest] =
            ["threads", "before", "words", "word", "rest"].map(|name| self.fresh(name));
        let first = bounds.value("0ull");
        let bytes = elem.size();
        self.line(&format!("const u64 {step} = {size}();"));
        self.line(&format!(
            "const u64 {before} = (0ull - (u64)&{tensor}[{first}]) % 16ull / {bytes}ull;"
        ));
        self.line(&format!(
            "const u64 {whole} = {step} > 1ull && {count} > {before} ? ({count} - {before}) / {lanes}ull : 0ull;"
        ));
        self.open(&format!("for (u64 {word} = {place}(); {word} < {whole}; {word} += {step}) {{"));
        let at = bounds.value(&format!("({before} + {word} * {lanes}ull)"));
        let elements = self.fresh("elements");
        self.line(&format!("const {words} {elements} = *(const {words}*)&{tensor}[{at}];"));
        let outer = self.locals.clone();
        let each = 4 / bytes as u32;
        for stmt in &kernel.blocks[body].stmts {
            if let Stmt::Let { local, .. } = stmt {
                self.locals.remove(local);
            }
        }
        let mut all = vec![self.locals.clone(); lanes as usize];
        for stmt in &kernel.blocks[body].stmts {
            for (lane, locals) in (0..lanes).zip(&mut all) {
                std::mem::swap(&mut self.locals, locals);
                let bits = 8 * bytes as u32 * (lane % each);
                let part = format!("{elements}.parts[{}] >> {bits}", lane / each);
                let value = match elem {
                    ScalarType::Bool => format!("({part} & 255u) != 0u"),
                    _ => format!("({})({part})", types::name(elem)),
                };
                self.given.insert(read, value);
                self.stmt(stmt);
                std::mem::swap(&mut self.locals, locals);
            }
        }
        self.given.clear();
        self.locals = outer;
        self.close();
        self.line(&format!("const u64 {rest} = {count} - {lanes}ull * {whole};"));
        let own = self.fresh(counter);
        self.open(&format!("for (u64 {own} = {place}(); {own} < {rest}; {own} += {step}) {{"));
        let at = format!("({own} < {before} ? {own} : {own} + {lanes}ull * {whole})");
        let outer = self.locals.clone();
        self.define_lane(dim.var, bounds, &at);
        self.block(body);
        self.locals = outer;
        self.close();
    }

    /// More dimensions: neighbours in the outermost one.
    fn neighbours(&mut self, dims: &[LoopDim], loops: &[Bounds], lanes: u32, body: BlockId) {
        let axes = AXES[dims.len().min(3)];
        let (counter, count) = (&loops[0].counter, &loops[0].count);
        let place = self.helper(Helper::Thread(axes[0]));
        let size = self.helper(Helper::Threads(axes[0]));
        let width = self.helper(Helper::Threads('x'));
        let each = self.fresh("each");
        let enough = format!("{size}() < {count} && {width}() > 1ull");
        self.line(&format!("const u64 {each} = {enough} ? {lanes}ull : 1ull;"));
        self.open(&format!(
            "for (u64 {counter} = {place}() * {each}; {counter} < {count}; {counter} += {size}() * {each}) {{"
        ));
        for (bounds, &axis) in loops.iter().zip(axes).skip(1) {
            self.open_loop(bounds, [Helper::Thread(axis), Helper::Threads(axis)]);
        }
        let last = u64::from(lanes - 1);
        self.open(&format!("if ({each} > 1ull && {counter} + {last}ull < {count}) {{"));
        let at = |lane: u32| match lane {
            0 => counter.clone(),
            _ => format!("{counter} + {lane}ull"),
        };
        self.lanes(dims[0].var, &loops[0], lanes, &at, body);
        self.otherwise();
        let outer = self.locals.clone();
        let own = self.fresh(counter);
        self.open(&format!(
            "for (u64 {own} = {counter}; {own} < {count} && {own} < {counter} + {each}; {own}++) {{"
        ));
        self.define_lane(dims[0].var, &loops[0], &own);
        self.block(body);
        self.close();
        self.locals = outer;
        self.close();
        for _ in dims {
            self.close();
        }
    }

    /// The body for iterations whose counters are `at` of their number, statement by statement.
    fn lanes(
        &mut self,
        var: LocalId,
        bounds: &Bounds,
        lanes: u32,
        at: &dyn Fn(u32) -> String,
        body: BlockId,
    ) {
        let kernel = self.kernel;
        let outer = self.locals.clone();
        let wide = kernel.locals[var].ty == ScalarType::U64;
        let first = self.fresh(&kernel.locals[var].name);
        let mut each = Vec::new();
        for lane in 0..lanes {
            self.locals = outer.clone();
            let name = match lane {
                0 => first.clone(),
                _ => self.fresh(&kernel.locals[var].name),
            };
            let value = bounds.value(&at(lane));
            let ty = types::name(kernel.locals[var].ty);
            self.line(&format!("const {ty} {name} = {value};"));
            self.locals.insert(var, name);
            each.push(std::mem::take(&mut self.locals));
        }
        // Of one dimension they are not at a constant distance.
        let near = wide && kernel.tasks[self.task.index()].kind.dims().is_some_and(|d| d.len() > 1);
        for stmt in &kernel.blocks[body].stmts {
            for (lane, locals) in each.iter_mut().enumerate() {
                std::mem::swap(&mut self.locals, locals);
                if near {
                    self.neighbours.insert(var, (first.clone(), lane as i64));
                }
                self.stmt(stmt);
                std::mem::swap(&mut self.locals, locals);
            }
        }
        self.neighbours.clear();
        self.locals = outer;
    }

    /// Defines the loop's variable anew, of the iteration with that counter.
    fn define_lane(&mut self, var: LocalId, bounds: &Bounds, counter: &str) {
        let name = self.fresh(&self.kernel.locals[var].name);
        let ty = types::name(self.kernel.locals[var].ty);
        let value = bounds.value(counter);
        self.line(&format!("const {ty} {name} = {value};"));
        self.locals.insert(var, name);
    }
}
