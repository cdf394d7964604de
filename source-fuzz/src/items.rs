//! Random items beside a kernel: structs, constants, funcs, methods and funcs of traits.

use crate::{
    generate::{Func, FuncArg, FunctionState, Generator, Param, Struct, TensorVar},
    types::{Bound, Num, Ty},
};

impl Generator {
    /// Adds a struct, and returns its text. `equal` says whether `==` is derived or provided by a trap.
    pub(crate) fn structure(&mut self, equal: Option<bool>) -> String {
        let name = format!("S{}", self.structs.len());
        let tuple = self.rng.percent(35);
        let count = self.rng.within(1, 3);
        let mut fields = Vec::new();
        for at in 0..count {
            let ty = self.some_type(1);
            fields.push((if tuple { at.to_string() } else { format!("f{at}") }, ty));
        }
        let generic = self.rng.percent(20).then(|| self.some_num());
        let could = fields.iter().all(|(_, ty)| self.has_equality(ty));
        let derived = could && equal.unwrap_or_else(|| self.rng.percent(60));
        let derives = if derived {
            "Clone, Copy, Debug, PartialEq, qd::KernelValue"
        } else {
            "Clone, Copy, Debug, qd::KernelValue"
        };
        let mut written: Vec<_> = fields.iter().map(|(_, ty)| self.text(ty)).collect();
        let (mut declared, mut of) = ("", String::new());
        if let Some(num) = generic {
            self.hit("item.struct.generic");
            (declared, of) = ("<T>", format!("<{}>", num.name()));
            let (at, inner) = if self.rng.percent(50) {
                (Ty::Num(num), "T")
            } else {
                (Ty::Array(Box::new(Ty::Num(num)), 2), "[T; 2]")
            };
            fields[0].1 = at;
            written[0] = inner.to_owned();
        }
        let text = if tuple {
            self.hit("item.struct.tuple");
            let parts: Vec<_> = written.iter().map(|ty| format!("pub {ty}")).collect();
            format!("#[derive({derives})]\npub struct {name}{declared}({});\n", parts.join(", "))
        } else {
            self.hit("item.struct.named");
            let parts: Vec<_> = fields
                .iter()
                .zip(&written)
                .map(|((name, _), ty)| format!("pub {name}: {ty},\n"))
                .collect();
            format!("#[derive({derives})]\npub struct {name}{declared} {{\n{}}}\n", parts.concat())
        };
        let equal = derived || equal == Some(false);
        self.structs.push(Struct { name, of, fields, tuple, equal });
        text
    }

    fn has_equality(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Struct(of) => self.structs[*of].equal,
            Ty::Array(of, _) => self.has_equality(of),
            Ty::Tuple(of) => of.iter().all(|of| self.has_equality(of)),
            _ => true,
        }
    }

    /// A constant of the module.
    pub(crate) fn table(&mut self) -> String {
        self.hit("item.const");
        let name = format!("TABLE{}", self.consts.len());
        let num = self.some_num();
        let count = self.rng.within(2, 4);
        let (ty, value) = match self.rng.below(3) {
            0 => (Ty::Num(num), self.constant_of(num)),
            1 => {
                let parts: Vec<_> = (0..count).map(|_| self.constant_of(num)).collect();
                (Ty::Array(Box::new(Ty::Num(num)), count), format!("[{}]", parts.join(", ")))
            }
            _ => {
                let value = self.constant_of(num);
                (Ty::Tuple(vec![Ty::Num(num), Ty::Bool]), format!("({value}, true)"))
            }
        };
        let text = format!("pub const {name}: {} = {value};\n", self.text(&ty));
        self.consts.push(crate::generate::Var { name, ty, mutable: false, frozen: false });
        text
    }

    fn constant_of(&mut self, num: Num) -> String {
        let value = self.rng.below(100);
        if num.is_float() { format!("{value}.5") } else { value.to_string() }
    }

    /// Adds a func, and returns its text.
    pub(crate) fn func(&mut self, within: Option<&str>) -> String {
        let name = format!("func{}", self.funcs.len());
        let tensor = self.rng.percent(20).then(|| Ty::Num(self.some_num()));
        let mut args: Vec<_> =
            (0..self.rng.within(1, 3)).map(|_| FuncArg::Value(self.some_type(1))).collect();
        if let Some(elem) = tensor {
            args.push(FuncArg::Tensor(elem));
        }
        let ret = self.some_type(1);
        let (params, body) = self.function(&args, None, &ret, false);
        let result = self.text(&ret);
        let public = if within.is_some() { "pub " } else { "" };
        let text = format!("#[qd::func]\n{public}fn {name}({params}) -> {result} {{\n{body}}}\n");
        let path = match within {
            Some(module) => format!("{module}::{name}"),
            None => name,
        };
        self.hit("item.func");
        self.funcs.push(Func { path, receiver: None, args, ret });
        text
    }

    /// A func that writes an element of a tensor.
    pub(crate) fn writer(&mut self) -> String {
        self.hit("item.func.writer");
        let name = format!("put{}", self.writers.len());
        let num = self.some_num();
        let ty = num.name();
        let value = {
            let (_, body) = self.function(&[], None, &Ty::Num(num), false);
            body
        };
        self.writers.push((name.clone(), Ty::Num(num)));
        format!(
            "#[qd::func]\nfn {name}(y: &mut Tensor<{ty}, 1>, at: usize, v: {ty}) -> {ty} {{\nlet old = y[at];\ny[at] = v;\nif y[at] == v {{ return old; }}\n{value}}}\n"
        )
    }

    /// A func that is generic over numbers, called with this one.
    pub(crate) fn generic_func(&mut self, extra: &str) -> String {
        self.hit("item.func.generic");
        let name = format!("func{}", self.funcs.len());
        let (bound, num) = self.some_bound();
        let outer = self.param.replace(Param { name: "T".to_owned(), bound, num });
        let args = [FuncArg::Value(Ty::Param), FuncArg::Value(Ty::Param)];
        let (params, body) = self.function(&args, None, &Ty::Param, false);
        self.param = outer;
        let text = format!(
            "#[qd::func]\nfn {name}<T: qd::{}{extra}>({params}) -> T {{\n{body}}}\n",
            bound.name()
        );
        let arg = FuncArg::Value(Ty::Num(num));
        let path = if self.rng.percent(50) { format!("{name}::<{}>", num.name()) } else { name };
        self.funcs.push(Func {
            path,
            receiver: None,
            args: vec![arg.clone(), arg],
            ret: Ty::Num(num),
        });
        text
    }

    /// A func of a constant.
    pub(crate) fn func_of_constant(&mut self) -> String {
        self.hit("item.func.constant");
        let name = format!("func{}", self.funcs.len());
        let (count, num) = (self.rng.within(1, 4), self.some_num());
        let ty = num.name();
        let plus = if num.is_float() { "+" } else { "^" };
        let text = format!(
            "#[qd::func]\nfn {name}<const N: usize>(x: {ty}) -> {ty} {{\nlet mut all = [x; N];\nfor k in 0..N {{ all[k] += k as {ty}; }}\nlet mut sum = x;\nfor k in 0..all.len() {{ sum = sum {plus} all[N - 1 - k]; }}\nsum\n}}\n"
        );
        let path = format!("{name}::<{count}>");
        let args = vec![FuncArg::Value(Ty::Num(num))];
        self.funcs.push(Func { path, receiver: None, args, ret: Ty::Num(num) });
        text
    }

    pub(crate) fn some_bound(&mut self) -> (Bound, Num) {
        match self.rng.below(3) {
            0 => (Bound::Number, *self.rng.pick(&[Num::I32, Num::F32, Num::U64, Num::U8])),
            1 => (Bound::Int, *self.rng.pick(&[Num::I32, Num::U32, Num::Usize, Num::I64])),
            _ => (Bound::Float, *self.rng.pick(&[Num::F32, Num::F64])),
        }
    }

    /// An `impl` block of a struct with funcs.
    pub(crate) fn methods(&mut self, of: usize) -> String {
        let ty = Ty::Struct(of);
        let name = self.text(&Ty::Struct(of));
        let mut text = format!("#[qd::func]\nimpl {name} {{\n");
        let mut added = Vec::new();
        for at in 0..self.rng.within(1, 2) {
            let method = format!("method{at}");
            let args = vec![FuncArg::Value(Ty::Num(self.some_num()))];
            let ret = Ty::Num(self.some_num());
            let (this, mutable) = match self.rng.below(3) {
                0 => ("self", false),
                1 => ("&self", false),
                _ => ("&mut self", true),
            };
            self.hit(match this {
                "self" => "item.method.value",
                "&self" => "item.method.ref",
                _ => "item.method.mut",
            });
            let (params, body) = self.function(&args, Some((of, mutable)), &ret, this != "self");
            let result = self.text(&ret);
            text.push_str(&format!("pub fn {method}({this}, {params}) -> {result} {{\n{body}}}\n"));
            added.push(Func { path: method, receiver: Some((ty.clone(), mutable)), args, ret });
        }
        if self.rng.percent(50) {
            self.hit("item.method.static");
            let args = vec![FuncArg::Value(Ty::Num(self.some_num()))];
            let (params, body) = self.function(&args, None, &ty, false);
            text.push_str(&format!("pub fn made({params}) -> Self {{\n{body}}}\n"));
            added.push(Func {
                path: format!("{}::made", name.replace('<', "::<")),
                receiver: None,
                args,
                ret: ty,
            });
        }
        text.push_str("}\n");
        self.funcs.extend(added);
        text
    }

    /// A trait of funcs, and its implementation for a struct.
    pub(crate) fn func_trait(&mut self, of: usize) -> String {
        self.hit("item.trait");
        let name = self.text(&Ty::Struct(of));
        let ret = Ty::Num(self.some_num());
        let args = vec![FuncArg::Value(Ty::Num(self.some_num()))];
        let (params, body) = self.function(&args, Some((of, false)), &ret, false);
        let (arg, result) = match &args[0] {
            FuncArg::Value(ty) => (self.text(ty), self.text(&ret)),
            FuncArg::Tensor(_) => return String::new(),
        };
        let text = format!(
            "#[qd::func]\npub trait Shape {{\nconst CORNERS: u32;\nfn area(self, a: {arg}) -> {result};\n}}\n\
             #[qd::func]\nimpl Shape for {name} {{\nconst CORNERS: u32 = {};\nfn area(self, {params}) -> {result} {{\n{body}}}\n}}\n\
             #[qd::func]\nfn through<P: Shape>(p: P, a: {arg}) -> {result} {{\np.area(a) + P::CORNERS as {result}\n}}\n",
            self.rng.below(9),
        );
        self.funcs.push(Func {
            path: "area".to_owned(),
            receiver: Some((Ty::Struct(of), false)),
            args: args.clone(),
            ret: ret.clone(),
        });
        let mut args = args;
        args.insert(0, FuncArg::Value(Ty::Struct(of)));
        self.funcs.push(Func { path: "through".to_owned(), receiver: None, args, ret });
        text
    }

    /// Parameters and body of a function.
    fn function(
        &mut self,
        args: &[FuncArg],
        receiver: Option<(usize, bool)>,
        ret: &Ty,
        by_reference: bool,
    ) -> (String, String) {
        let outer = std::mem::take(&mut self.frame);
        let (in_func, hoisting, loops) = (self.in_func, self.hoisting, self.loops);
        (self.in_func, self.hoisting, self.loops) = (true, false, 1);
        self.frame =
            FunctionState { ret: Some(ret.clone()), by_reference, ..FunctionState::default() };
        if let Some((of, mutable)) = receiver {
            self.bind("self", Ty::Struct(of), mutable);
        }
        let mut params = Vec::new();
        for arg in args {
            let name = self.unique("a");
            match arg {
                FuncArg::Value(ty) => {
                    params.push(format!("{name}: {}", self.text(ty)));
                    self.bind(&name, ty.clone(), false);
                }
                FuncArg::Tensor(elem) => {
                    params.push(format!("{name}: &Tensor<{}, 1>", self.text(elem)));
                    let (elem, rank) = (elem.clone(), 1);
                    self.frame.tensors.push(TensorVar {
                        name,
                        elem,
                        rank,
                        writable: false,
                        own: None,
                    });
                }
            }
        }
        let count = self.rng.below(3);
        let mut body = self.statements(count, 2);
        self.calls = 2;
        body.push_str(&self.expr(ret, 2));
        body.push('\n');
        self.frame = outer;
        (self.in_func, self.hoisting, self.loops) = (in_func, hoisting, loops);
        (params.join(", "), body)
    }
}
