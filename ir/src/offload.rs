//! Offloading: splits a kernel into tasks. The input must satisfy [`verify()`](crate::verify()); statements keep their
//! order.
//!
//! * A pure, immutable top-level `let` that depends only on parameters is duplicated into the prelude of each task that
//!   uses it. A division by a nonzero constant counts as pure.
//! * The other statements of a serial block become one serial task. Locals that later tasks use are passed in
//!   temporaries of the launch: set at the end of the task, read in the preludes of later tasks. If a later serial task
//!   assigns a mutable one, it sets the temporary again.
//! * A parallel loop or grid of blocks becomes one task. Its bounds stay on the device if they depend on tensors,
//!   mutable locals or divisions that can fail: a serial task of the same block computes them into temporaries. The
//!   same holds for bounds computed with floats, because host and device may round differently.
//! * A parallel loop combines into a local through its temporary: [`Stmt::Reduce`] becomes [`Stmt::ReduceTemp`].
//! * The return value is set in a serial task: the preceding one if it is serial, else a new one.

use crate::{
    Block, BlockFor, BlockId, Const, Expr, ExprId, ExprKind, Kernel, LocalId, LoopDim, Offloaded,
    ParallelFor, RegionBlockId, Site, SiteId, SiteKind, Stmt, Task, TaskKind, TempId, TopStmt,
    VerifyError,
    schedule::TaskSchedule,
    verify,
    verify::{IrLocation, IrRule},
    visit::{Nodes, Reach},
};

/// Why a kernel cannot be offloaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    /// The kernel does not pass verification.
    #[error(transparent)]
    Invalid(#[from] VerifyError),
}

/// A future task.
struct TopLevelItem<'k> {
    region_block: RegionBlockId,
    kind: TopLevelItemKind<'k>,
    reach: Reach,
    defines: Vec<LocalId>,
}

impl TopLevelItem<'_> {
    /// Whether the task needs a local's value, or changes it.
    fn uses(&self, local: LocalId) -> bool {
        self.reach.locals[local.index()] || self.reach.combined[local.index()]
    }
}

enum TopLevelItemKind<'k> {
    Serial { block: BlockId, stmts: Vec<Stmt> },
    Loop(&'k ParallelFor, Option<SiteId>),
    Blocks(&'k BlockFor, Option<SiteId>),
}

struct Offloader<'k> {
    nodes: Nodes<'k>,
    /// The value of each local that is duplicated into preludes.
    repeated: Vec<Option<ExprId>>,
    /// Whether host and device compute the same value for it.
    exact: Vec<bool>,
    /// All top-level locals, in the order of their definitions.
    order: Vec<LocalId>,
    temps: Vec<Option<TempId>>,
    items: Vec<TopLevelItem<'k>>,
    out: Offloaded,
}

/// Splits a kernel into tasks.
///
/// # Errors
/// [`OffloadError::Invalid`] if the kernel does not pass [`verify()`].
pub fn offload(kernel: &Kernel) -> Result<Offloaded, OffloadError> {
    verify(kernel)?;
    let mut offloader = Offloader {
        nodes: kernel.into(),
        repeated: vec![None; kernel.locals.len()],
        exact: vec![false; kernel.locals.len()],
        order: Vec::new(),
        temps: vec![None; kernel.locals.len()],
        items: Vec::new(),
        out: Offloaded {
            name: kernel.name.clone(),
            file: kernel.file.clone(),
            params: kernel.params.clone(),
            locals: kernel.locals.clone(),
            exprs: kernel.exprs.clone(),
            blocks: kernel.blocks.clone(),
            sites: kernel.sites.clone(),
            temps: Vec::new(),
            results: kernel.results.clone(),
            options: kernel.options,
            tasks: Vec::new(),
        },
    };
    offloader.collect(&kernel.body, RegionBlockId::NONE);
    offloader.check_shared_extents()?;
    offloader.close_over_repeated();
    offloader.choose_temps();
    for at in 0..offloader.items.len() {
        offloader.emit(at);
    }
    Ok(offloader.out)
}

impl<'k> Offloader<'k> {
    fn collect(&mut self, body: &'k [TopStmt], region_block: RegionBlockId) {
        for stmt in body {
            match stmt {
                TopStmt::Serial(block) => self.collect_serial(*block, region_block),
                TopStmt::ParallelFor(each) => {
                    let (reach, bounds_site) = self.collect_loop(&each.dims, each.body, each.line);
                    self.push(region_block, TopLevelItemKind::Loop(each, bounds_site), reach);
                }
                TopStmt::BlockFor(each) => {
                    let (reach, bounds_site) = self.collect_loop(&each.dims, each.body, each.line);
                    self.push(region_block, TopLevelItemKind::Blocks(each, bounds_site), reach);
                }
                TopStmt::RegionBlock { region_block, body } => self.collect(body, *region_block),
                TopStmt::Return(values) => self.collect_return(values),
            }
        }
    }

    fn collect_serial(&mut self, block: BlockId, region_block: RegionBlockId) {
        let nodes = self.nodes;
        let mut rest = Vec::new();
        let mut defines = Vec::new();
        let mut reach = Reach::new(nodes);
        for stmt in &nodes.blocks[block].stmts {
            if let Stmt::Let { local, value } = *stmt {
                self.order.push(local);
                if !nodes.locals[local].mutable && self.is_host_value(value) {
                    self.repeated[local.index()] = Some(value);
                    self.exact[local.index()] = self.is_exact(value);
                    continue;
                }
                defines.push(local);
            }
            nodes.reach_stmt(stmt, &mut reach);
            rest.push(stmt.clone());
        }
        if rest.is_empty() {
            self.out.blocks[block].stmts.clear();
            return;
        }
        let kind = TopLevelItemKind::Serial { block, stmts: rest };
        self.items.push(TopLevelItem { region_block, kind, reach, defines });
    }

    /// The nodes that a loop uses, and a new site for its bounds if only the device can evaluate them.
    fn collect_loop(
        &mut self,
        dims: &[LoopDim],
        body: BlockId,
        line: u32,
    ) -> (Reach, Option<SiteId>) {
        let mut reach = Reach::new(self.nodes);
        let mut bounds_site = None;
        for bound in dims.iter().flat_map(|dim| [dim.begin, dim.end]) {
            let on_host = self.is_host_value(bound) && self.is_exact(bound);
            if bounds_site.is_none() && !on_host {
                bounds_site = Some(SiteId::new(self.out.sites.len() as u32));
                let kind = SiteKind::Bounds;
                self.out.sites.push(Site { kind, file: None, line, column: 1, asserted: false });
            }
            self.nodes.reach_expr(bound, &mut reach);
        }
        self.nodes.reach_block(body, &mut reach);
        (reach, bounds_site)
    }

    /// Checks that the host can evaluate the extents of all shared arrays.
    fn check_shared_extents(&self) -> Result<(), VerifyError> {
        for (block, Block { stmts }) in self.nodes.blocks.iter() {
            for (at, stmt) in stmts.iter().enumerate() {
                let mut extents = stmt.extent_locals();
                let known = |local: &LocalId| {
                    self.repeated[local.index()].is_some() && self.exact[local.index()]
                };
                if let Some(unknown) = extents.find(|local| !known(local)) {
                    let name = self.nodes.locals[unknown].name.clone();
                    return Err(VerifyError {
                        kernel: self.out.name.clone(),
                        at: IrLocation::Stmt(block, at),
                        rule: IrRule::SharedExtent { name },
                    });
                }
            }
        }
        Ok(())
    }

    fn collect_return(&mut self, values: &[ExprId]) {
        let sets = values.iter().zip(0..).map(|(value, at)| Stmt::SetResult { at, value: *value });
        let sets: Vec<Stmt> = sets.collect();
        // A kernel with such blocks has no `Return`, so the previous item is in none either.
        if let Some(TopLevelItem { kind: TopLevelItemKind::Serial { stmts, .. }, reach, .. }) =
            self.items.last_mut()
        {
            sets.iter().for_each(|set| self.nodes.reach_stmt(set, reach));
            stmts.extend(sets);
            return;
        }
        let mut reach = Reach::new(self.nodes);
        sets.iter().for_each(|set| self.nodes.reach_stmt(set, &mut reach));
        let block = self.out.blocks.push(Block::default());
        self.push(RegionBlockId::NONE, TopLevelItemKind::Serial { block, stmts: sets }, reach);
    }

    fn push(&mut self, region_block: RegionBlockId, kind: TopLevelItemKind<'k>, reach: Reach) {
        self.items.push(TopLevelItem { region_block, kind, reach, defines: Vec::new() });
    }

    fn is_host_value(&self, value: ExprId) -> bool {
        self.nodes.is_host_value(value, &|local| self.repeated[local.index()].is_some())
    }

    fn is_exact(&self, value: ExprId) -> bool {
        self.nodes.is_exact(value, &|local| self.exact[local.index()])
    }

    /// Extends the uses of each item by the locals that its duplicated definitions use, transitively.
    fn close_over_repeated(&mut self) {
        for item in &mut self.items {
            for local in self.order.iter().rev() {
                if let Some(value) = self.repeated[local.index()]
                    && item.reach.locals[local.index()]
                {
                    self.nodes.reach_expr(value, &mut item.reach);
                }
            }
        }
    }

    fn choose_temps(&mut self) {
        for (at, item) in self.items.iter().enumerate() {
            for &local in &item.defines {
                if self.items[at + 1..].iter().any(|later| later.uses(local)) {
                    self.temps[local.index()] = Some(TempId::new(self.out.temps.len() as u32));
                    self.out.temps.push(self.nodes.locals[local].ty);
                }
            }
        }
    }

    fn emit(&mut self, at: usize) {
        let prelude = self.prelude(at);
        let sets = self.sets(at);
        let zeros = self.zeros(at);
        let item = &mut self.items[at];
        let mut line = item.reach.line;
        let (kind, body) = match &mut item.kind {
            TopLevelItemKind::Serial { block, stmts } => {
                stmts.splice(0..0, zeros);
                stmts.extend(sets);
                self.out.blocks[*block].stmts = std::mem::take(stmts);
                (TaskKind::Serial, *block)
            }
            TopLevelItemKind::Loop(parallel, bounds_site) => {
                line = parallel.line;
                combine_into_temps(&mut self.out, &self.temps, parallel.body);
                let dims = parallel.dims.clone();
                let (bounds_site, block_size) = (*bounds_site, parallel.block_size);
                (TaskKind::RangeFor { dims, bounds_site, block_size }, parallel.body)
            }
            TopLevelItemKind::Blocks(each, bounds_site) => {
                line = each.line;
                let (dims, threads) = (each.dims.clone(), each.threads);
                (TaskKind::BlockFor { dims, bounds_site: *bounds_site, threads }, each.body)
            }
        };
        let accesses = item.reach.accesses();
        self.out.tasks.push(Task {
            kind,
            region_block: item.region_block,
            prelude,
            body,
            accesses,
            line,
            schedule: TaskSchedule::default(),
        });
    }

    fn prelude(&mut self, at: usize) -> BlockId {
        let mut stmts = Vec::new();
        let item = &self.items[at];
        for &local in &self.order {
            if !item.reach.locals[local.index()] {
                continue;
            }
            let value = match (self.repeated[local.index()], self.temps[local.index()]) {
                (Some(value), _) => value,
                (None, Some(temp)) if !item.defines.contains(&local) => {
                    let ty = self.nodes.locals[local].ty;
                    self.out.exprs.push(Expr::new(ty, ExprKind::Temp(temp)))
                }
                _ => continue,
            };
            stmts.push(Stmt::Let { local, value });
        }
        self.out.blocks.push(Block { stmts })
    }

    /// Stores to the temporaries that pass an item's locals to later items: of locals that it defines or assigns.
    fn sets(&mut self, at: usize) -> Vec<Stmt> {
        let (item, later) = (&self.items[at], &self.items[at + 1..]);
        let mut stmts = Vec::new();
        for &local in &self.order {
            let Some(temp) = self.temps[local.index()] else { continue };
            let changes = item.defines.contains(&local) || item.reach.assigned[local.index()];
            if changes && later.iter().any(|item| item.uses(local)) {
                let ty = self.nodes.locals[local].ty;
                let value = self.out.exprs.push(Expr::new(ty, ExprKind::Local(local)));
                stmts.push(Stmt::SetTemp { temp, value });
            }
        }
        stmts
    }

    /// Initializes the temporaries of a serial item with zero if an assertion may end the task early. Later items read
    /// them in any case, for example as bounds.
    fn zeros(&mut self, at: usize) -> Vec<Stmt> {
        let TopLevelItemKind::Serial { stmts, .. } = &self.items[at].kind else {
            return Vec::new();
        };
        if !stmts.iter().any(|stmt| self.may_end(stmt)) {
            return Vec::new();
        }
        let temps = self.items[at].defines.iter().filter_map(|local| self.temps[local.index()]);
        let mut zeros = Vec::new();
        for temp in temps {
            let ty = self.out.temps[temp.index()];
            let kind = ExprKind::Const(Const::from_bits(ty, 0));
            zeros.push(Stmt::SetTemp { temp, value: self.out.exprs.push(Expr::new(ty, kind)) });
        }
        zeros
    }

    /// Whether a statement contains an assertion.
    fn may_end(&self, stmt: &Stmt) -> bool {
        let within = |block: BlockId| {
            let block = &self.nodes.blocks[block];
            block.stmts.iter().any(|stmt| self.may_end(stmt))
        };
        matches!(stmt, Stmt::Assert { .. }) || stmt.blocks().any(within)
    }
}

/// Replaces combinations into locals by combinations into their temporaries.
fn combine_into_temps(kernel: &mut Offloaded, temps: &[Option<TempId>], block: BlockId) {
    let mut stmts = std::mem::take(&mut kernel.blocks[block].stmts);
    for stmt in &mut stmts {
        if let Stmt::Reduce { local, op, value } = *stmt
            && let Some(temp) = temps[local.index()]
        {
            *stmt = Stmt::ReduceTemp { temp, op, value };
        }
        for inner in stmt.blocks() {
            combine_into_temps(kernel, temps, inner);
        }
    }
    kernel.blocks[block].stmts = stmts;
}
