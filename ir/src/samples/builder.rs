//! The builder of test kernels, and functions to run them.

use crate::{
    abi::{self, Form},
    interp::{Fault, Interpreter, Memory, SliceMemory},
    launch_analysis::LaunchAnalysis,
    *,
};

pub use ScalarType::{Bool, F32, F64, I32, I64, U32, U64};

/// The addresses of the error record, the scratch memory and the tensors.
pub const RECORD: u64 = 0x100;
pub const SCRATCH: u64 = 0x1000;
const TENSORS: u64 = 0x10_0000;

/// A kernel under construction.
pub struct IrBuilder(pub Kernel);

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    Scalar(Const),
    Tensor { shape: Vec<u64>, elements: Vec<Const> },
}

/// The result of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The elements of each tensor, in parameter order.
    pub tensors: Vec<Vec<Const>>,
    pub result: Option<Const>,
    /// The site and values of the device error.
    pub error: Option<(u32, Vec<u64>)>,
}

impl IrBuilder {
    pub fn new(name: &str) -> Self {
        Self(Kernel {
            name: name.into(),
            file: "test.rs".into(),
            params: Vec::new(),
            locals: Arena::new(),
            exprs: Arena::new(),
            blocks: Arena::new(),
            sites: Vec::new(),
            body: Vec::new(),
            result: None,
            options: Options::default(),
        })
    }

    pub fn tensor(&mut self, name: &str, elem: ScalarType, rank: u8) -> ParamId {
        self.param(name, ParamKind::Tensor { elem, rank, writable: true })
    }

    pub fn scalar(&mut self, name: &str, ty: ScalarType) -> ExprId {
        let param = self.param(name, ParamKind::Scalar(ty));
        self.expr(ty, ExprKind::Param(param))
    }

    pub fn param(&mut self, name: &str, kind: ParamKind) -> ParamId {
        self.0.params.push(Param { name: name.into(), kind });
        ParamId::new(self.0.params.len() as u32 - 1)
    }

    pub fn local(&mut self, name: &str, ty: ScalarType) -> LocalId {
        self.0.locals.push(Local { name: name.into(), ty, mutable: false })
    }

    pub fn variable(&mut self, name: &str, ty: ScalarType) -> LocalId {
        self.0.locals.push(Local { name: name.into(), ty, mutable: true })
    }

    pub fn expr(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        self.0.exprs.push(Expr { ty, kind })
    }

    pub fn constant(&mut self, value: impl Into<Const>) -> ExprId {
        let value = value.into();
        self.expr(value.ty(), ExprKind::Const(value))
    }

    pub fn read(&mut self, local: LocalId) -> ExprId {
        let ty = self.0.locals[local].ty;
        self.expr(ty, ExprKind::Local(local))
    }

    pub fn dim(&mut self, tensor: ParamId, axis: u8) -> ExprId {
        self.expr(U64, ExprKind::Dim { tensor, axis })
    }

    pub fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = if op.is_comparison() { Bool } else { self.0.exprs[lhs].ty };
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    pub fn math(&mut self, function: MathFn, args: &[ExprId]) -> ExprId {
        let ty = self.0.exprs[args[0]].ty;
        self.expr(ty, ExprKind::Math { function, args: args.to_vec() })
    }

    pub fn cast(&mut self, ty: ScalarType, value: ExprId) -> ExprId {
        self.expr(ty, ExprKind::Cast { value })
    }

    pub fn load(&mut self, tensor: ParamId, index: &[ExprId]) -> ExprId {
        let site = self.site(SiteKind::Index(tensor));
        let ty = self.elem(tensor);
        self.expr(ty, ExprKind::Load { tensor, index: index.to_vec(), site })
    }

    pub fn atomic(
        &mut self,
        op: AtomicOp,
        tensor: ParamId,
        index: &[ExprId],
        value: ExprId,
    ) -> ExprId {
        let site = self.site(SiteKind::Index(tensor));
        let ty = self.elem(tensor);
        self.expr(ty, ExprKind::Atomic { op, tensor, index: index.to_vec(), value, site })
    }

    pub fn div_rem(&mut self, op: DivRemOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let site = self.site(SiteKind::DivideByZero);
        let ty = self.0.exprs[lhs].ty;
        self.expr(ty, ExprKind::DivRem { op, lhs, rhs, site })
    }

    pub fn store(&mut self, tensor: ParamId, index: &[ExprId], value: ExprId) -> Stmt {
        let site = self.site(SiteKind::Index(tensor));
        Stmt::Store { tensor, index: index.to_vec(), value, site }
    }

    pub fn assert(&mut self, cond: ExprId, message: &str) -> Stmt {
        let site = self.site(SiteKind::Assert { message: message.into() });
        Stmt::Assert { cond, site }
    }

    pub fn site(&mut self, kind: SiteKind) -> SiteId {
        let line = self.0.sites.len() as u32 + 1;
        self.0.sites.push(Site { kind, file: None, line, column: 1, asserted: false });
        SiteId::new(line - 1)
    }

    pub fn elem(&self, tensor: ParamId) -> ScalarType {
        match self.0.params[tensor.index()].kind {
            ParamKind::Tensor { elem, .. }
            | ParamKind::Component { elem, .. }
            | ParamKind::Scalar(elem) => elem,
        }
    }

    pub fn block(&mut self, stmts: Vec<Stmt>) -> BlockId {
        self.0.blocks.push(Block { stmts })
    }

    pub fn serial(&mut self, stmts: Vec<Stmt>) -> TopStmt {
        TopStmt::Serial(self.block(stmts))
    }

    /// A parallel loop. Each dimension is a variable and its bounds.
    pub fn parallel(&mut self, dims: &[(LocalId, ExprId, ExprId)], stmts: Vec<Stmt>) -> TopStmt {
        let body = self.block(stmts);
        let dims = dims.iter().map(|&(var, begin, end)| LoopDim { var, begin, end }).collect();
        TopStmt::ParallelFor(ParallelFor { dims, body, line: 7, block_size: None })
    }
}

/// The step and plane of a component's argument; none for others. Components of odd rank are stored element by element.
pub fn strides(kind: ParamKind, shape: &[u64]) -> Option<[u64; 2]> {
    match kind {
        ParamKind::Component { scalars, .. } if shape.len() % 2 == 1 => Some([scalars.into(), 1]),
        ParamKind::Component { .. } => Some([1, shape.iter().product()]),
        _ => None,
    }
}

/// Places the tensors in memory and returns the argument block, with the interiors of the checked form.
pub fn argument_block(kernel: &Offloaded, args: &[Arg], memory: &mut SliceMemory) -> Vec<u64> {
    memory.insert(RECORD, vec![0; size_of::<abi::ErrorRecord>()]);
    memory.insert(SCRATCH, vec![0; abi::scratch_bytes(kernel)]);
    let mut words = vec![RECORD, SCRATCH, 42];
    for (i, arg) in args.iter().enumerate() {
        match arg {
            Arg::Scalar(value) => words.push(value.bits()),
            Arg::Tensor { shape, elements } => {
                let address = TENSORS * (i as u64 + 1);
                let bytes = elements.iter().flat_map(|element| {
                    element.bits().to_le_bytes().into_iter().take(element.ty().size())
                });
                memory.insert(address, bytes.collect());
                words.push(address);
                words.extend(shape);
                let kind = kernel.params[i].kind;
                words.extend(kind.component_extent().map(u64::from));
                words.extend(strides(kind, shape).into_iter().flatten());
            }
        }
    }
    words.extend(LaunchAnalysis::new(kernel).interiors(&words));
    words
}

/// Runs all tasks, in order.
pub fn run(kernel: &Offloaded, form: Form, args: &[Arg]) -> Result<Outcome, Fault> {
    run_with_fuel(kernel, form, args, 1_000_000)
}

/// As [`run`], with a fuel limit per task.
pub fn run_with_fuel(
    kernel: &Offloaded,
    form: Form,
    args: &[Arg],
    fuel: u64,
) -> Result<Outcome, Fault> {
    let mut memory = SliceMemory::new();
    let words = argument_block(kernel, args, &mut memory);
    let interpreter = Interpreter::new(kernel).with_fuel(fuel);
    for (task, _) in kernel.tasks() {
        interpreter.run_task(task, form, &words, &mut memory)?;
    }
    let after = memory.clone();
    let tensors = args.iter().enumerate().filter_map(|(i, arg)| {
        let Arg::Tensor { elements, .. } = arg else { return None };
        let mut memory = after.clone();
        let read = |(at, element): (usize, &Const)| {
            let (ty, base) = (element.ty(), TENSORS * (i as u64 + 1));
            let bits = memory.load(base + (at * ty.size()) as u64, ty.size()).unwrap();
            Const::from_bits(ty, bits)
        };
        Some(elements.iter().enumerate().map(read).collect())
    });
    let tensors = tensors.collect();
    let word = |memory: &mut SliceMemory, at| memory.load(at, 4).unwrap() as u32;
    let error = (word(&mut memory, RECORD) == abi::ErrorRecord::FULL).then(|| {
        let site = word(&mut memory, RECORD + 4);
        let count = u64::from(word(&mut memory, RECORD + 20));
        let values = (0..count).map(|i| memory.load(RECORD + 24 + 8 * i, 8).unwrap());
        (site, values.collect())
    });
    let result = kernel.result.map(|ty| {
        let at = SCRATCH + 8 * abi::result_word(kernel) as u64;
        Const::from_bits(ty, memory.load(at, 8).unwrap())
    });
    Ok(Outcome { tensors, result, error })
}
