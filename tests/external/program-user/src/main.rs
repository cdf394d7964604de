//! Launches a kernel made of IR by hand, with no macro and no facade.

use quadrants_program::ir::{Arena, Array, Block, Element, Expr, ExprKind, Kernel as Ir, Local};
use quadrants_program::ir::{Const, Param, ParamId, ParamKind, ScalarType, Site, SiteId, SiteKind};
use quadrants_program::ir::{LoopDim, Options, ParallelFor, Stmt, TopStmt};
use quadrants_program::{Kernel, Opened, Program, Result};

/// `for i in 0..out.len() { out[i] = 7.0 }`
fn sevens() -> Ir {
    let (mut locals, mut exprs, mut blocks) = (Arena::new(), Arena::new(), Arena::new());
    let out = ParamId::new(0);
    let i = locals.push(Local { name: "i".into(), ty: ScalarType::U64, mutable: false });
    let mut u64_of = |kind| exprs.push(Expr::new(ScalarType::U64, kind));
    let begin = u64_of(ExprKind::Const(Const::from(0u64)));
    let end = u64_of(ExprKind::Dim { tensor: out, axis: 0 });
    let index = u64_of(ExprKind::Local(i));
    let value =
        exprs.push(Expr::new(ScalarType::F32, ExprKind::Const(Const::from(7.0f32))));
    let array = Array::Tensor(out);
    let element = Element { array, index: vec![index], site: SiteId::new(0) };
    let store = Stmt::Store { element, value };
    let body = blocks.push(Block { stmts: vec![store] });
    Ir {
        name: "sevens".into(),
        file: "README.md".into(),
        params: vec![Param::new(
            "out",
            ParamKind::Tensor { elem: ScalarType::F32, rank: 1, writable: true, distinct: false },
        )],
        locals,
        exprs,
        blocks,
        sites: vec![Site {
            kind: SiteKind::Index(array),
            file: None,
            line: 1,
            column: 1,
            asserted: false,
        }],
        body: vec![TopStmt::ParallelFor(ParallelFor {
            dims: vec![LoopDim { var: i, begin, end }],
            body,
            line: 1,
            block_size: None,
        })],
        results: Vec::new(),
        options: Options::default(),
    }
}

fn main() -> Result<()> {
    let device = quadrants_rhi_cpu::driver()?.open(0)?;
    let program = Program::open(Opened { device, compiler: None })?;
    let kernel = Kernel::new(sevens())?;
    let mut out = program.zeros::<f32, 1>([100])?;
    kernel.call::<()>().arg(&mut out).launch()?;
    assert_eq!(out.to_vec()?, [7.0; 100]);
    Ok(())
}
