//! Kernels for the tests, built as IR.

use quadrants_ir::{
    Arena, AtomicOp, BinaryOp, Block, Const, Expr, ExprId, ExprKind, Kernel, Local, LoopDim,
    Options, ParallelFor, Param, ParamId, ParamKind, ScalarType, SimImage, Site, SiteId, SiteKind,
    Stmt, TopStmt,
    abi::{Form, Passing},
    offload,
};

/// `for i in 0..dst.len() { dst[i] = src[i] + v }`
pub(crate) fn add() -> Kernel {
    let tensor = |name: &str, writable| Param {
        name: name.to_owned(),
        kind: ParamKind::Tensor { elem: ScalarType::U32, rank: 1, writable },
    };
    let scalar = Param { name: "v".to_owned(), kind: ParamKind::Scalar(ScalarType::U32) };
    let mut kernel = empty("add", vec![tensor("dst", true), tensor("src", false), scalar]);
    let (dst, src, v) = (ParamId::new(0), ParamId::new(1), ParamId::new(2));
    let i = local(&mut kernel, "i", ScalarType::U64);
    let x = local(&mut kernel, "x", ScalarType::U32);
    let at = |tensor| Site {
        kind: SiteKind::Index(tensor),
        file: None,
        line: 1,
        column: 1,
        asserted: false,
    };
    kernel.sites = vec![at(dst), at(src)];
    let (dst_site, src_site) = (SiteId::new(0), SiteId::new(1));
    let index = expr(&mut kernel, ScalarType::U64, ExprKind::Local(i));
    let load = ExprKind::Load { tensor: src, index: vec![index], site: src_site };
    let load = expr(&mut kernel, ScalarType::U32, load);
    let lhs = expr(&mut kernel, ScalarType::U32, ExprKind::Local(x));
    let rhs = expr(&mut kernel, ScalarType::U32, ExprKind::Param(v));
    let sum = ExprKind::Binary { op: BinaryOp::Add, lhs, rhs };
    let sum = expr(&mut kernel, ScalarType::U32, sum);
    let body = kernel.blocks.push(Block {
        stmts: vec![
            Stmt::Let { local: x, value: load },
            Stmt::Store { tensor: dst, index: vec![index], value: sum, site: dst_site },
        ],
    });
    let begin = expr(&mut kernel, ScalarType::U64, ExprKind::Const(Const::from(0u64)));
    let end = expr(&mut kernel, ScalarType::U64, ExprKind::Dim { tensor: dst, axis: 0 });
    let dims = vec![LoopDim { var: i, begin, end }];
    kernel.body = vec![TopStmt::ParallelFor(ParallelFor { dims, body, line: 1, block_size: None })];
    kernel
}

/// `for i in 0..n { atomic_add(&mut counter[0], 1) }`
pub(crate) fn count() -> Kernel {
    let elem = ScalarType::U32;
    let counter = ParamKind::Tensor { elem, rank: 1, writable: true };
    let counter = Param { name: "counter".to_owned(), kind: counter };
    let n = Param { name: "n".to_owned(), kind: ParamKind::Scalar(ScalarType::U64) };
    let mut kernel = empty("count", vec![counter, n]);
    let tensor = ParamId::new(0);
    let kind = SiteKind::Index(tensor);
    kernel.sites = vec![Site { kind, file: None, line: 1, column: 1, asserted: false }];
    let i = local(&mut kernel, "i", ScalarType::U64);
    let old = local(&mut kernel, "old", elem);
    let zero = expr(&mut kernel, ScalarType::U64, ExprKind::Const(Const::from(0u64)));
    let one = expr(&mut kernel, elem, ExprKind::Const(Const::from(1u32)));
    let (op, index, site) = (AtomicOp::Add, vec![zero], SiteId::new(0));
    let atomic = ExprKind::Atomic { op, tensor, index, value: one, site };
    let atomic = expr(&mut kernel, elem, atomic);
    let stmts = vec![Stmt::Let { local: old, value: atomic }];
    let body = kernel.blocks.push(Block { stmts });
    let end = expr(&mut kernel, ScalarType::U64, ExprKind::Param(ParamId::new(1)));
    let dims = vec![LoopDim { var: i, begin: zero, end }];
    kernel.body = vec![TopStmt::ParallelFor(ParallelFor { dims, body, line: 1, block_size: None })];
    kernel
}

/// The argument block of [`count`], for a tensor of one element.
pub(crate) fn count_args(counter: u64, n: u64) -> [u64; 6] {
    [0, 0, 0, counter, 1, n]
}

/// A loop without iterations.
pub(crate) fn nothing() -> Kernel {
    let mut kernel = empty("nothing", Vec::new());
    let i = local(&mut kernel, "i", ScalarType::U64);
    let zero = expr(&mut kernel, ScalarType::U64, ExprKind::Const(Const::from(0u64)));
    let body = kernel.blocks.push(Block::default());
    let dims = vec![LoopDim { var: i, begin: zero, end: zero }];
    kernel.body = vec![TopStmt::ParallelFor(ParallelFor { dims, body, line: 1, block_size: None })];
    kernel
}

/// A module's image.
pub(crate) fn image(kernel: &Kernel, passing: Passing) -> Vec<u8> {
    let kernel = offload(kernel).expect("the kernel is valid");
    SimImage { kernel, form: Form::Proven, passing }.encode()
}

/// The argument block of [`add`], for tensors of `len` elements.
pub(crate) fn add_args(dst: u64, src: u64, len: u64, v: u32) -> [u64; 8] {
    [0, 0, 0, dst, len, src, len, u64::from(v)]
}

fn empty(name: &str, params: Vec<Param>) -> Kernel {
    Kernel {
        name: name.to_owned(),
        file: "kernels.rs".to_owned(),
        params,
        locals: Arena::new(),
        exprs: Arena::new(),
        blocks: Arena::new(),
        sites: Vec::new(),
        body: Vec::new(),
        result: None,
        options: Options::default(),
    }
}

fn local(kernel: &mut Kernel, name: &str, ty: ScalarType) -> quadrants_ir::LocalId {
    kernel.locals.push(Local { name: name.to_owned(), ty, mutable: false })
}

fn expr(kernel: &mut Kernel, ty: ScalarType, kind: ExprKind) -> ExprId {
    kernel.exprs.push(Expr { ty, kind })
}
