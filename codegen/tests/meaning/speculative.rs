//! Random checked iterations that follow lists of indices, some of them out of range: loops whose bounds are loaded,
//! conditions, divisions, local arrays, and stores at the end. Most run speculatively.
//!
//! `QUADRANTS_TEST_SEED` is the first seed, and `QUADRANTS_TEST_KERNELS` the number of kernels.

use std::env;

use quadrants_codegen::WITHOUT_FAILURES;
use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, LocalId, MathFn, Offloaded, ParamId, ParamKind,
    ScalarType::{self, Bool, F16, F32, I8, I16, I32, I64, U8, U16, U32, U64},
    SiteId, Stmt, TaskId,
    abi::{Form, Forms, Passing},
    launch_analysis::LaunchAnalysis,
    schedule::schedule,
    simplify, verify_offloaded,
};
use quadrants_samples::{
    self as samples, Builder,
    case::Case,
    generate::Rng,
    host_program::{HostProgram, HostText},
    run::SampleArg,
};

use super::checks;
use crate::print_scheduled;

/// The types of the lists.
const LISTED: [ScalarType; 8] = [U32, U32, I32, U64, I64, U8, I16, U16];
/// The types of loop variables.
const VARIABLES: [ScalarType; 4] = [U64, I64, I32, U32];
const ELEMENTS: [ScalarType; 7] = [I32, U32, U64, F32, Bool, I8, F16];

struct Generator<'r> {
    rng: &'r mut Rng,
    b: Builder,
    lists: Vec<ParamId>,
    data: Vec<(ParamId, u8)>,
    /// The values in scope.
    values: Vec<ExprId>,
    variables: Vec<LocalId>,
    arrays: Vec<(LocalId, SiteId)>,
    /// Whether the iterations have no effects before their stores.
    pure: bool,
}

struct Sample {
    kernel: Offloaded,
    args: Vec<Vec<SampleArg>>,
}

impl Sample {
    fn draw(rng: &mut Rng, name: &str) -> Self {
        let mut g = Generator {
            pure: rng.chance(85),
            rng,
            b: Builder::new(name),
            lists: Vec::new(),
            data: Vec::new(),
            values: Vec::new(),
            variables: Vec::new(),
            arrays: Vec::new(),
        };
        let scalar_type = g.rng.pick(&VARIABLES);
        let scalar = g.b.scalar("s", scalar_type);
        let mut kinds = Vec::new();
        for at in 0..1 + g.rng.below(3) {
            // No launch proves an index that is loaded from the first one.
            let types = if at == 0 { &LISTED[..5] } else { &LISTED };
            let ty = g.rng.pick(types);
            g.lists.push(g.b.read_only(&format!("list{at}"), ty, 1));
            kinds.push((ty, 1, 1));
        }
        for at in 0..1 + g.rng.below(3) {
            let (elem, rank) = (g.rng.pick(&ELEMENTS), g.rng.below(3) as u8);
            let scalars = 1 + g.rng.below(4) as u32;
            let kind = match g.rng.chance(50) {
                true => ParamKind::Component { elem, rank, writable: false, scalars },
                false => ParamKind::Tensor { elem, rank, writable: false, distinct: false },
            };
            let path = if kind.component_extent().is_some() { "[]" } else { "" };
            let tensor = g.b.param(&format!("x{at}{path}"), kind);
            if g.rng.chance(70) && kind.component_extent().is_some() {
                g.b.kernel.params[tensor.index()].interleaved_step = scalars;
            }
            g.data.push((tensor, rank));
            kinds.push((elem, rank, kind.component_extent().unwrap_or(1)));
        }
        let rank = if g.rng.chance(75) { 1 } else { 2 };
        let mut out = Vec::new();
        for at in 0..1 + g.rng.below(2) {
            let elem = g.rng.pick(&ELEMENTS);
            let scalars = 1 + g.rng.below(3) as u32;
            let kind = match g.rng.chance(40) {
                true => ParamKind::Component { elem, rank, writable: true, scalars },
                false => ParamKind::Tensor { elem, rank, writable: true, distinct: false },
            };
            let path = if kind.component_extent().is_some() { "[]" } else { "" };
            out.push(g.b.param(&format!("y{at}{path}"), kind));
            kinds.push((elem, rank, kind.component_extent().unwrap_or(1)));
        }
        g.values.push(scalar);
        let var_type = if rank == 1 && g.rng.chance(30) { g.rng.pick(&VARIABLES) } else { U64 };
        let dims: Vec<_> = (0..rank)
            .map(|axis| {
                let begin = g.b.constant(Const::from_bits(var_type, g.rng.below(2)));
                let end = g.b.dim(out[0], axis);
                let end = if var_type == U64 { end } else { g.b.cast(var_type, end) };
                (["i", "j"][usize::from(axis)], begin, end)
            })
            .collect();
        let uniform = g.rng.chance(30).then(|| {
            let last = *g.values.last().unwrap();
            let one = g.b.constant(Const::from_bits(scalar_type, 3));
            g.b.binary(BinaryOp::And, last, one)
        });
        let mut b = std::mem::replace(&mut g.b, Builder::new("none"));
        b.parallel_loop(&dims, |inner, vars| {
            std::mem::swap(&mut g.b, inner);
            g.values.extend(vars);
            g.values.extend(uniform);
            g.iteration(vars, &out);
            std::mem::swap(&mut g.b, inner);
        });
        // In another task, everything is proven.
        if g.rng.chance(30) {
            let list = g.lists[0];
            let elem = b.elem(list);
            let copy = b.tensor("copy", elem, 1);
            kinds.push((elem, 1, 1));
            let lens = [list, copy].map(|tensor| b.dim(tensor, 0));
            let (zero, len) = (b.constant(0u64), b.math(MathFn::Min, &lens));
            b.parallel_loop(&[("c", zero, len)], |b, c| {
                let value = b.let_load("listed", list, c);
                b.push_store(copy, c, value);
            });
        }
        let kernel = simplify(&b.finish());
        let args = (0..4).map(|round| g.args(scalar_type, &kinds, round)).collect();
        Self { kernel, args }
    }
}

impl Generator<'_> {
    fn args(
        &mut self,
        scalar: ScalarType,
        kinds: &[(ScalarType, u8, u32)],
        round: u64,
    ) -> Vec<SampleArg> {
        let mut args = vec![SampleArg::Scalar(self.rng.value(scalar))];
        let y = kinds.len();
        let extent = 3 + self.rng.below(5);
        for (at, (ty, rank, scalars)) in kinds.iter().enumerate() {
            let is_list = at < self.lists.len();
            let is_out = at >= self.lists.len() + self.data.len();
            let mut shape: Vec<u64> = (0..*rank).map(|_| 5 + self.rng.below(5)).collect();
            if is_out && self.rng.chance(80) {
                shape.fill(extent);
            }
            if round == 3 && !shape.is_empty() && self.rng.chance(30) && at + 1 < y {
                let axis = self.rng.index(shape.len());
                shape[axis] = self.rng.below(2);
            }
            let count = shape.iter().product::<u64>() * u64::from(*scalars);
            let wild = [0, 1, 5, 25][round as usize];
            let elements = (0..count).map(|at| {
                if !is_list {
                    return self.rng.value(*ty);
                }
                let begins = at == 0 && self.rng.chance(25);
                if begins || self.rng.chance(wild) {
                    let bits = self.rng.draw();
                    let bits =
                        self.rng.pick(&[bits, u64::MAX, 1 << 31, (1 << 32) + 1, 12, 1 << 63]);
                    return Const::from_bits(*ty, bits & mask(*ty));
                }
                Const::from_bits(*ty, self.rng.below(5))
            });
            args.push(SampleArg::Tensor { shape, elements: elements.collect() });
        }
        args
    }

    fn iteration(&mut self, vars: &[ExprId], out: &[ParamId]) {
        let first = self.index_of(vars[0]);
        let listed = self.b.let_load("first", self.lists[0], &[first]);
        self.values.push(listed);
        let listed = self.index_of(listed);
        let data = self.lists[self.lists.len() - 1];
        let listed = self.b.let_load("second", data, &[listed]);
        self.values.push(listed);
        if !self.pure {
            let value = self.load();
            self.b.push(Stmt::Eval { value });
        }
        for _ in 0..1 + self.rng.below(3) {
            let load = self.list_load();
            self.define(load);
        }
        if self.rng.chance(30) {
            let ty = self.rng.pick(&[I32, U64, F32]);
            let array = self.b.array("local", ty, 4);
            self.arrays.push(array);
        }
        for _ in 0..1 + self.rng.below(5) {
            self.stmt(3);
        }
        let own: Vec<ExprId> = vars.iter().map(|var| self.index_of(*var)).collect();
        for _ in 0..1 + self.rng.below(3) {
            let tensor = self.rng.pick(out);
            let mut index = own.clone();
            if self.rng.chance(15) {
                let (far, value) = (self.b.constant(1u64 << 33), self.value(U64));
                let one = self.b.constant(1u64);
                let bit = self.b.binary(BinaryOp::And, value, one);
                let far = self.b.binary(BinaryOp::Mul, bit, far);
                index[0] = self.b.binary(BinaryOp::Add, index[0], far);
            }
            self.add_choice(tensor, &mut index);
            let elem = self.b.elem(tensor);
            let value = self.value(elem);
            self.b.push_store(tensor, &index, value);
        }
    }

    fn add_choice(&mut self, tensor: ParamId, index: &mut Vec<ExprId>) {
        let Some(scalars) = self.b.kernel.params[tensor.index()].kind.component_extent() else {
            return;
        };
        let choice = match self.rng.chance(60) {
            true => self.b.constant(self.rng.below(scalars.into())),
            false => {
                let value = self.value(U64);
                let three = self.b.constant(3u64);
                self.b.binary(BinaryOp::And, value, three)
            }
        };
        index.push(choice);
    }

    fn define(&mut self, value: ExprId) {
        if self.rng.chance(25) {
            let local = self.b.define("v", value, true);
            self.variables.push(local);
        } else {
            let value = self.b.named("l", value);
            self.values.push(value);
        }
    }

    fn index_of(&mut self, value: ExprId) -> ExprId {
        self.convert(value, U64)
    }

    /// A value in another type, by way of the types in which values are computed.
    fn convert(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        let from = self.b.ty(value);
        let steps = [
            from.wide(),
            if from == Bool && ty.wide().is_float() { I32 } else { ty.wide() },
            ty.wide(),
            ty,
        ];
        let mut value = value;
        for step in if from == ty { &[][..] } else { &steps } {
            if self.b.ty(value) != *step {
                value = self.b.cast(*step, value);
            }
        }
        value
    }

    /// An index that no launch proves, or one of a few others.
    fn index(&mut self) -> ExprId {
        match self.rng.below(6) {
            0 => self.b.constant(self.rng.below(6)),
            1 => {
                let value = self.value(U64);
                let few = self.b.constant(7u64);
                self.b.binary(BinaryOp::And, value, few)
            }
            2 => {
                let (value, one) = (self.any_int(), self.b.constant(1u64));
                let value = self.index_of(value);
                let op = self.rng.pick(&[BinaryOp::Add, BinaryOp::Sub]);
                self.b.binary(op, value, one)
            }
            _ => {
                let value = self.any_int();
                self.index_of(value)
            }
        }
    }

    fn any_int(&mut self) -> ExprId {
        let ints: Vec<_> =
            self.values.iter().copied().filter(|value| self.b.ty(*value).is_int()).collect();
        self.rng.pick(&ints[ints.len().saturating_sub(6)..])
    }

    fn list_load(&mut self) -> ExprId {
        let list = self.rng.pick(&self.lists);
        let index = self.index();
        self.b.load(list, &[index])
    }

    fn load(&mut self) -> ExprId {
        if self.rng.chance(35) {
            return self.list_load();
        }
        let (tensor, rank) = self.rng.pick(&self.data);
        let mut index: Vec<_> = (0..rank).map(|_| self.index()).collect();
        self.add_choice(tensor, &mut index);
        self.b.load(tensor, &index)
    }

    fn stmt(&mut self, depth: u32) {
        match self.rng.below(if depth > 0 { 12 } else { 8 }) {
            0..=2 => {
                let load = self.load();
                self.define(load);
                // Often several that follow each other, with indices that were there before.
                let (known, locals) = (self.values.len(), self.variables.len());
                for _ in 0..[0, 0, 2, 4][self.rng.index(4)] {
                    let (new, own) =
                        (self.values.split_off(known), self.variables.split_off(locals));
                    let load = self.load();
                    self.values.extend(new);
                    self.variables.extend(own);
                    self.define(load);
                }
            }
            3 => {
                let ty = self.rng.pick(&[I32, U32, I64, U64]);
                let (lhs, rhs) = (self.value(ty), self.value(ty));
                let op = self.rng.pick(&[DivRemOp::Div, DivRemOp::Rem]);
                let value = self.b.div_rem(op, lhs, rhs);
                self.define(value);
                if self.rng.chance(30) {
                    let value = self.b.div_rem(DivRemOp::Rem, lhs, rhs);
                    self.define(value);
                }
            }
            4 if !self.arrays.is_empty() => {
                let array = self.rng.pick(&self.arrays);
                let (value, three) = (self.value(U64), self.b.constant(3u64));
                let at = self.b.binary(BinaryOp::And, value, three);
                if self.rng.chance(50) {
                    let value = self.value(self.b.kernel.locals[array.0].ty);
                    self.b.array_store(array, at, value);
                } else {
                    let value = self.b.array_load("element", array, at);
                    self.values.push(value);
                }
            }
            4..=6 if !self.variables.is_empty() => {
                let local = self.rng.pick(&self.variables);
                let value = self.value(self.b.kernel.locals[local].ty);
                self.b.assign(local, value);
            }
            7 if !self.pure && self.rng.chance(30) => {
                let value = self.load();
                self.b.push(Stmt::Eval { value });
            }
            8 | 9 => {
                let cond = self.value(Bool);
                let then = self.block(depth, None);
                let otherwise = self.block(depth, None);
                self.b.push(Stmt::If { cond, then, otherwise });
            }
            10 | 11 => {
                let ty = self.rng.pick(&VARIABLES);
                let begin = match self.rng.below(3) {
                    0 => self.b.constant(Const::from_bits(ty, self.rng.below(2))),
                    _ => self.value(ty),
                };
                let three = self.b.constant(Const::from_bits(ty, 3));
                let some = self.value(ty);
                let some = self.b.binary(BinaryOp::And, some, three);
                let end = match self.rng.below(5) {
                    0 => self.value(ty),
                    1 => self.b.constant(Const::from_bits(ty, self.rng.below(5))),
                    _ => self.b.binary(BinaryOp::Add, begin, some),
                };
                let var = self.b.local("k", ty);
                let body = self.block(depth, Some(var));
                let down = self.rng.chance(25);
                let unroll = if self.rng.chance(20) { Some(2) } else { None };
                self.b.push(Stmt::For { var, begin, end, body, unroll, down });
            }
            _ => {
                let ty = self.rng.pick(&[I32, U32, U64, I64, F32, Bool]);
                let value = self.value(ty);
                self.define(value);
            }
        }
    }

    fn block(&mut self, depth: u32, var: Option<LocalId>) -> quadrants_ir::BlockId {
        let marks = (self.values.len(), self.variables.len());
        self.b.open_block();
        if let Some(var) = var {
            let var = self.b.read(var);
            self.values.push(var);
            if self.rng.chance(60) {
                let index = self.index_of(var);
                let list = self.rng.pick(&self.lists);
                let load = self.b.load(list, &[index]);
                self.define(load);
            }
        }
        for _ in 0..self.rng.below(4) {
            self.stmt(depth - 1);
        }
        self.values.truncate(marks.0);
        self.variables.truncate(marks.1);
        self.b.close_block()
    }

    /// A value of this type, of the values in scope.
    fn value(&mut self, ty: ScalarType) -> ExprId {
        let leaf = |g: &mut Self| {
            if !g.variables.is_empty() && g.rng.chance(30) {
                let local = g.rng.pick(&g.variables);
                return g.b.read(local);
            }
            match g.rng.chance(10) {
                true => {
                    let value = g.rng.value(I64);
                    g.b.constant(value)
                }
                false => g.rng.pick(&g.values),
            }
        };
        if ty == Bool {
            let operands = self.rng.pick(&[I32, U64, F32]);
            let (lhs, rhs) = (self.value(operands), self.value(operands));
            let op = self.rng.pick(&[BinaryOp::Lt, BinaryOp::Ne, BinaryOp::Ge, BinaryOp::Eq]);
            return self.b.binary(op, lhs, rhs);
        }
        let lhs = leaf(self);
        let lhs = self.convert(lhs, ty);
        if ty.is_narrow() || self.rng.chance(50) {
            return lhs;
        }
        let rhs = leaf(self);
        let rhs = self.convert(rhs, ty);
        if ty.is_int() && self.rng.chance(20) {
            return self.b.math(MathFn::Min, &[lhs, rhs]);
        }
        let op = self.rng.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul]);
        self.b.binary(op, lhs, rhs)
    }
}

fn mask(ty: ScalarType) -> u64 {
    u64::MAX >> (64 - 8 * ty.size())
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().and_then(|value| value.parse().ok())
}

#[test]
fn random_iterations_over_lists_agree_with_the_interpreter() {
    let first = number("QUADRANTS_TEST_SEED").unwrap_or(1);
    let many = if samples::full_size() { 150 } else { 60 };
    let many = number("QUADRANTS_TEST_KERNELS").unwrap_or(many);
    let mut loops: Vec<Sample> = Vec::new();
    for seed in first..first + many {
        let sample = Sample::draw(&mut Rng::new(seed), &format!("lists_{seed}"));
        if let Err(error) = verify_offloaded(&sample.kernel) {
            panic!("{seed}: {error:?}\n{}", sample.kernel);
        }
        loops.push(sample);
    }
    let first_task = Forms::PROVEN.with_checked(TaskId::new(0));
    let variants = [
        (Forms::CHECKED, Passing::Buffer),
        (Forms::CHECKED.without_planes(), Passing::Value),
        (first_task.with_narrow_indices(), Passing::Value),
        (first_task.with_planes(), Passing::Buffer),
    ];
    let (mut speculative, mut joint, mut compared, mut failed) = (0_u64, 0, 0, 0);
    for (forms, passing) in variants {
        let texts: Vec<_> = loops
            .iter()
            .map(|Sample { kernel, .. }| {
                let text = print_scheduled(kernel, forms, passing);
                HostText { kernel, text, passing }
            })
            .collect();
        for kernel in &loops {
            let kernel = schedule(&kernel.kernel, forms);
            speculative += u64::from(kernel.tasks[0].schedule.speculative_iterations);
            joint += kernel.tasks[0].schedule.joint_loads.len();
        }
        let Some(program) = HostProgram::build(&texts, checks()).unwrap() else {
            println!("skipped: no C++ compiler");
            return;
        };
        let scheduled: Vec<_> =
            loops.iter().map(|sample| schedule(&sample.kernel, forms)).collect();
        let mut cases = Vec::new();
        for (at, sample) in loops.iter().enumerate() {
            for (round, args) in sample.args.iter().enumerate() {
                let mut case = Case::with(&scheduled[at], args);
                let plan = LaunchAnalysis::new(&sample.kernel);
                let most = plan.unchecked_forms(&case.words);
                if !forms.has_planes() && most.has_planes()
                    || forms.is_mixed()
                        && plan.forms(&case.words).of(TaskId::new(1)) == Form::Checked
                    || forms.has_narrow_indices() && !most.has_narrow_indices()
                {
                    continue;
                }
                case.large = round % 2 == 1;
                case.any_error = case.large || scheduled[at].tasks[0].schedule.coarsening > 1;
                // None of those that take too long.
                let Ok(expected) =
                    Case { kernel: &sample.kernel, ..case.clone() }.interpret(Form::Checked)
                else {
                    continue;
                };
                failed += u32::from(expected[0][0] != 0);
                cases.push((at, case, expected));
            }
        }
        let input: Vec<_> = cases.iter().map(|(at, case, _)| (*at, case)).collect();
        let ran = program.run(&input).unwrap();
        for (number, (at, case, expected)) in cases.iter().enumerate() {
            let found = ran.outputs.get(number).map(Vec::as_slice);
            if let Some(disagreement) = case.disagreement(expected, found) {
                panic!(
                    "seed {}, {forms:?}: {disagreement}\n{}\n{}\n{}",
                    first + *at as u64,
                    ran.stderr,
                    case.kernel,
                    texts[*at].text
                );
            }
            compared += 1;
        }
    }
    println!("{compared} runs, {failed} with errors; {speculative} speculative, {joint} joint");
    assert!(many < 60 || speculative > many && joint > 0);
}

/// An iteration whose list is empty has no index out of range, so it is not executed again. The functions that would do
/// so are left out here.
#[test]
fn iterations_with_empty_lists_do_not_fail() {
    let mut b = Builder::new("empty_lists");
    let [starts, counts, list] = ["starts", "counts", "list"].map(|of| b.read_only(of, U32, 1));
    let weights = b.read_only("weights", I32, 1);
    let y = b.tensor("y", I32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(y, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let [start, count] = [starts, counts].map(|of| b.let_load("of_list", of, i));
        let [start, count] = [start, count].map(|value| b.cast(U64, value));
        let nothing = b.constant(0i32);
        let sum = b.define("sum", nothing, true);
        b.walk("k", [zero, count], |b, k| {
            let at = b.binary(BinaryOp::Add, start, k);
            let j = b.let_load("j", list, &[at]);
            let j = b.cast(U64, j);
            let weight = b.let_load("weight", weights, &[j]);
            let before = b.read(sum);
            let after = b.binary(BinaryOp::Add, before, weight);
            b.assign(sum, after);
        });
        let total = b.read(sum);
        b.push_store(y, i, total);
    });
    let kernel = simplify(&b.finish());
    let (forms, passing) = (Forms::CHECKED, Passing::Value);
    assert!(schedule(&kernel, forms).tasks[0].schedule.speculative_iterations);
    let text = print_scheduled(&kernel, forms, passing);
    let text = format!("#define {WITHOUT_FAILURES}\n{text}");
    let host = HostText { kernel: &kernel, text: text.clone(), passing };
    let Some(program) = HostProgram::build(&[host], checks()).unwrap() else {
        println!("skipped: no C++ compiler");
        return;
    };
    let tensor =
        |elements: Vec<Const>| SampleArg::Tensor { shape: vec![elements.len() as u64], elements };
    let numbers = |of: &[u32]| tensor(of.iter().map(|value| Const::from(*value)).collect());
    let args = [
        numbers(&[0, 0, 2, 9, 4]),
        numbers(&[0, 2, 0, 0, 1]),
        numbers(&[3, 1, 0, 2, 2]),
        tensor([5_i32, 6, 7, 8].map(Const::from).to_vec()),
        tensor([1_i32; 5].map(Const::from).to_vec()),
    ];
    let case = Case::with(&kernel, &args);
    let expected = case.interpret(Form::Checked).unwrap();
    let ran = program.run(&[(0, &case)]).unwrap();
    let found = ran.outputs.first().map(Vec::as_slice);
    assert_eq!(case.disagreement(&expected, found), None, "{}\n{text}", ran.stderr);
}
