//! Random loops that the CPU body runs in strips of iterations, with private copies, or in versions for a short last
//! axis. Each has tensors of its own, which are large enough for these.

use crate::{
    generate::Generator,
    kernel::KernelParam,
    types::{Num, Ty},
};

/// The element types of the tensors.
const NUMS: [Num; 6] = [Num::F32, Num::F32, Num::F64, Num::I32, Num::I64, Num::U8];

/// The extents of last axes: around the numbers of iterations in strips.
const WIDTHS: [usize; 9] = [2, 8, 17, 31, 33, 64, 70, 130, 270];

/// What a loop does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopPattern {
    Channels,
    Clamps,
    Conditions,
    Guards,
    Leaving,
    Rows,
    Scatter,
    Update,
}

/// A loop, and the names of its tensors.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    form: LoopPattern,
    num: Num,
    /// The tensor that is read.
    from: String,
    /// The tensor that is written.
    to: String,
}

impl Generator {
    /// Chooses loops, and adds their tensors to the parameters.
    pub(crate) fn strips(&mut self, params: &mut Vec<(String, KernelParam)>) -> Vec<Strip> {
        let count = if self.rng.percent(40) { self.rng.within(1, 2) } else { 0 };
        (0..count).map(|_| self.strip(params)).collect()
    }

    fn strip(&mut self, params: &mut Vec<(String, KernelParam)>) -> Strip {
        let form = *self.rng.pick(&[
            LoopPattern::Channels,
            LoopPattern::Clamps,
            LoopPattern::Clamps,
            LoopPattern::Clamps,
            LoopPattern::Conditions,
            LoopPattern::Guards,
            LoopPattern::Leaving,
            LoopPattern::Rows,
            LoopPattern::Scatter,
            LoopPattern::Update,
        ]);
        let (height, width) = (self.rng.within(2, 4), *self.rng.pick(&WIDTHS));
        let (num, read, written) = match form {
            LoopPattern::Channels => {
                let shape = vec![height, width.min(70), self.rng.within(2, 4)];
                (*self.rng.pick(&NUMS), shape.clone(), shape)
            }
            LoopPattern::Rows => {
                let shape = vec![width.min(33), self.rng.within(2, 9)];
                (*self.rng.pick(&[Num::F32, Num::F64]), shape.clone(), shape)
            }
            LoopPattern::Scatter => {
                let num = *self.rng.pick(&[Num::I32, Num::U32, Num::I64, Num::Usize]);
                (num, vec![self.rng.within(900, 1900)], vec![self.rng.within(2, 9)])
            }
            _ => (*self.rng.pick(&NUMS), vec![height, width], vec![height, width]),
        };
        let (from, to) = (self.unique("from"), self.unique("to"));
        params.push((from.clone(), KernelParam::Tensor(Ty::Num(num), read, false)));
        params.push((to.clone(), KernelParam::Tensor(Ty::Num(num), written, true)));
        Strip { form, num, from, to }
    }

    /// The text of a loop.
    pub(crate) fn strip_loop(&mut self, strip: &Strip) -> String {
        let frozen = self.freeze();
        let text = match strip.form {
            LoopPattern::Channels => self.channels(strip),
            LoopPattern::Clamps => self.clamps(strip),
            LoopPattern::Conditions => self.conditions(strip),
            LoopPattern::Guards => self.guards(strip),
            LoopPattern::Leaving => self.leaving(strip),
            LoopPattern::Rows => self.row_sums(strip),
            LoopPattern::Scatter => self.scatter(strip),
            LoopPattern::Update => self.update(strip),
        };
        self.thaw(&frozen);
        text
    }

    /// A literal of a type that other operands determine.
    fn small(&mut self, num: Num) -> String {
        let value = self.rng.within(1, 7);
        if num.is_float() { format!("{value}.25") } else { value.to_string() }
    }

    /// The value of a local `sum`: itself, or any expression that may use it.
    fn with_sum(&mut self, num: Num) -> String {
        if !self.rng.percent(20) {
            return "sum".to_owned();
        }
        let mark = self.mark();
        self.bind("sum", Ty::Num(num), false);
        let text = self.expr(&Ty::Num(num), 2);
        self.release(mark);
        format!("{{ let other: {} = {text}; sum + other }}", num.name())
    }

    fn zero(num: Num) -> &'static str {
        if num.is_float() { "0.0" } else { "0" }
    }

    /// A loop over rows and columns `i` and `j` of a tensor with the extents `h` and `w`.
    fn over_plane(&mut self, of: &str, body: &str) -> String {
        format!("let [h, w] = {of}.shape();\nfor (i, j) in qd::ndrange([h, w]) {{\n{body}}}\n")
    }

    /// An index of a column near `j`, with the statements before it. It uses `k`, the variable of an inner loop or a
    /// local.
    fn near(&mut self, at: usize) -> (String, String) {
        let (by, column) = (self.rng.within(1, 9), format!("c{at}"));
        let index = match self.rng.below(18) {
            0 => format!("(j + {by}).min(w - 1)"),
            1 => format!("j.saturating_sub({by})"),
            2 => format!("(j + k).saturating_sub({by}).min(w - 1)"),
            3 => format!("(j as i32 + k as i32 - {by}).clamp(0, w as i32 - 1) as usize"),
            4 => format!("j.max({by}).min(w - 1)"),
            5 | 12 => {
                self.hit("strip.clamp.wraps");
                let from = *self.rng.pick(&["(j as u8).max(3)", "(j as i8).max(-100) as u8"]);
                let mut before = format!("let byte{at} = {from};\n");
                let index = format!("(byte{at} as usize).min(w - 1)");
                if self.rng.percent(50) {
                    before.push_str(&format!("let {column} = {index};\n"));
                    return (before, column);
                }
                return (before, index);
            }
            6 | 13 => {
                self.hit("strip.clamp.literal");
                let before = format!("let by{at} = {by};\n");
                return (before, format!("(j + by{at}).min(w - 1)"));
            }
            7 | 14..17 => {
                self.hit("strip.clamp.hidden");
                // The name of a parameter, of an extent or of another local.
                let name = *self.rng.pick(&["c0", "c1", "w", "reach"]);
                let before = match name {
                    "w" => format!("let w = w.min({});\n", 30 + by),
                    "reach" => format!("let reach = k + {by};\n"),
                    _ => format!("let {name} = (j + {by}).min(w - 1);\n"),
                };
                let index = match name {
                    "w" => format!("(j + {by}).min(w - 1)"),
                    "reach" => "(j + reach).min(w - 1)".to_owned(),
                    _ => format!("{name}.max({by}).min(w - 1)"),
                };
                return (before, index);
            }
            8 => "(j + reach).min(w - 1)".to_owned(),
            9 => format!("(j + i / 2).saturating_sub({by}).min(w - 1)"),
            10 => format!("(j as u32).saturating_add({by}).min(w as u32 - 1) as usize"),
            _ => "j".to_owned(),
        };
        if self.rng.percent(40) {
            return (format!("let {column} = {index};\n"), column);
        }
        (String::new(), index)
    }

    /// Neighbours at clamped indices.
    fn clamps(&mut self, strip: &Strip) -> String {
        self.hit("strip.clamp");
        let Strip { num, from, to, .. } = strip;
        let mut body = String::new();
        for at in 0..self.rng.within(1, 3) {
            let (before, column) = self.near(at);
            let row = *self.rng.pick(&["i", "i", "(i + 1).min(h - 1)", "i.saturating_sub(k)"]);
            let (op, by) = (*self.rng.pick(&["+=", "-="]), self.small(*num));
            body.push_str(&before);
            body.push_str(&format!("sum {op} {from}[[{row}, {column}]] * {by};\n"));
            if self.rng.percent(20) {
                let limit = self.rng.below(40);
                body.push_str(&format!("if j < {limit} {{ sum += {by}; }}\n"));
            }
        }
        let inner = if self.rng.percent(50) {
            let end = self.rng.within(1, 4);
            format!("for k in 0..{end} {{\n{body}}}\n")
        } else {
            format!("let k = {};\n{body}", self.rng.within(1, 5))
        };
        let (zero, value) = (Self::zero(*num), self.with_sum(*num));
        let reach = self.rng.within(1, 5);
        let body =
            format!("let mut sum: {} = {zero};\n{inner}{to}[[i, j]] = {value};\n", num.name());
        let body = self.over_plane(from, &body);
        format!("let reach = {reach}usize;\n{body}")
    }

    /// Neighbours under conditions.
    fn guards(&mut self, strip: &Strip) -> String {
        self.hit("strip.guard");
        let Strip { num, from, to, .. } = strip;
        let (reach, by) = (self.rng.within(0, 3), self.small(*num));
        let ty = *self.rng.pick(&["i32", "i64"]);
        let first = *self.rng.pick(&[
            "row >= 0 && row < h as @ && column >= 0 && column < w as @",
            "row >= 0 && row < h as @ && (0 <= column && (w as @) > column)",
            "(row >= 0 && row < h as @) && column >= 0 && column <= w as @ - 1",
        ]);
        let first = first.replace('@', ty);
        let otherwise = match self.rng.below(4) {
            0 => String::new(),
            1 => format!(" else {{ sum += {by}; }}"),
            2 => format!(" else if column < -1 {{ sum -= {by}; }}"),
            _ => format!(
                " else if row < 1 || column > 20 {{ sum -= {by}; }} else {{ sum += {by}; }}"
            ),
        };
        let more = match self.rng.below(4) {
            0 => format!("if j + k > 6 && j + k < w {{ sum -= {from}[[i, j + k]]; }}\n"),
            1 => format!("if j - 3 > 5 {{ sum += {by}; }}\n"),
            2 => format!("let byte = j as u8;\nif byte >= 3 && column < 99 {{ sum += {by}; }}\n"),
            _ => String::new(),
        };
        let end = self.rng.within(1, 5);
        let (zero, value) = (Self::zero(*num), self.with_sum(*num));
        let body = format!(
            "let mut sum: {} = {zero};\nfor k in 0..{end}usize {{\nlet row = i as {ty} + k as {ty} - {reach};\n\
             let column = j as {ty} + k as {ty} - {reach};\n\
             if {first} {{ sum += {from}[[row as usize, column as usize]] * {by}; }}{otherwise}\n{more}}}\n\
             {to}[[i, j]] = {value};\n",
            num.name()
        );
        self.over_plane(from, &body)
    }

    /// A condition that neighbouring iterations often decide equally.
    fn agreed(&mut self, strip: &Strip) -> String {
        let (by, small) = (self.rng.within(1, 60), self.small(strip.num));
        match self.rng.below(7) {
            0 => "i <= j".to_owned(),
            1 => format!("j % 16 < {}", self.rng.within(1, 15)),
            2 => format!("{}[[i, j]] > {small}", strip.from),
            3 => format!("j < {by} || i > 1"),
            4 => format!("j + i == {by}"),
            5 => "h > 2".to_owned(),
            _ => format!("{{ let t = j + {by}; t > 66 }}"),
        }
    }

    /// An inner loop, with the local `sum`.
    fn inner(&mut self, strip: &Strip) -> String {
        let (from, by) = (&strip.from, self.small(strip.num));
        let end = *self.rng.pick(&["h", "3", "i + 1", "0"]);
        let text = match self.rng.below(4) {
            0 => format!("sum += {from}[[k % h, j]] * {by};"),
            1 => format!("let t = {from}[[k.min(h - 1), j]];\nsum = sum * {by} - t;"),
            2 => format!("if {from}[[i, j]] > sum {{ sum += {by}; }} else {{ sum -= {by}; }}"),
            _ => format!("sum += {from}[[i, j]];\nif sum > {by} {{ continue; }}\nsum -= {by};"),
        };
        format!("for k in 0..{end} {{\n{text}\n}}\n")
    }

    /// Conditions around inner loops.
    fn conditions(&mut self, strip: &Strip) -> String {
        self.hit("strip.condition");
        let Strip { num, from, to, .. } = strip;
        let (ty, zero) = (num.name(), Self::zero(*num));
        let mut body = String::new();
        let outside = self.rng.percent(60);
        if outside {
            body.push_str(&format!("let mut sum: {ty} = {zero};\n"));
        }
        for _ in 0..self.rng.within(1, 2) {
            let (first, inner) = (self.agreed(strip), self.inner(strip));
            let start = match outside {
                true => String::new(),
                false => format!("let mut sum: {ty} = {zero};\n"),
            };
            let before = match self.rng.percent(25) {
                true => format!("{to}[[i, j]] = {};\n", self.small(*num)),
                false => String::new(),
            };
            let store = format!("{to}[[i, j]] = sum;\n");
            let nested = match self.rng.percent(30) {
                true => format!("if {} {{\n{}}}\n", self.agreed(strip), self.inner(strip)),
                false => String::new(),
            };
            let otherwise = match self.rng.below(4) {
                0 => format!(" else {{\n{start}{}{store}}}", self.inner(strip)),
                1 => format!(
                    " else if {} {{\n{start}{}{store}}} else {{ {to}[[i, j]] = {}; }}",
                    self.agreed(strip),
                    self.inner(strip),
                    self.small(*num)
                ),
                2 => format!(" else {{ {to}[[i, j]] += {}; }}", self.small(*num)),
                _ => String::new(),
            };
            body.push_str(&format!(
                "{before}if {first} {{\n{start}{inner}{nested}{store}}}{otherwise}\n"
            ));
        }
        if outside {
            let value = self.with_sum(*num);
            body.push_str(&format!("{to}[[i, j]] = {value};\n"));
        }
        self.over_plane(from, &body)
    }

    /// Inner loops that iterations leave at different times.
    fn leaving(&mut self, strip: &Strip) -> String {
        self.hit("strip.leave");
        let Strip { num, from, to, .. } = strip;
        let (ty, most, by) = (num.name(), self.rng.within(1, 9), self.small(*num));
        let inner = match self.rng.below(3) {
            0 => format!(
                "while count < {most} && sum < {by} {{\ncount += 1;\nsum += {from}[[i, j]];\n}}\n"
            ),
            1 => format!(
                "loop {{\nif count >= {most} {{ break; }}\ncount += 1;\nif sum > {by} {{ continue; }}\nsum += {from}[[i, j]];\n}}\n"
            ),
            _ => format!(
                "for k in 0..{most} {{\nif k > j % 7 {{ break; }}\ncount += k;\nsum = sum * {by} + {from}[[i, j]];\n}}\n"
            ),
        };
        let value = self.with_sum(*num);
        let body = format!(
            "let mut sum: {ty} = {from}[[i, j]];\nlet mut count = 0usize;\n{inner}\
             {to}[[i, j]] = {value};\nif count > 2 {{ {to}[[i, j]] -= {by}; }}\n"
        );
        self.over_plane(from, &body)
    }

    /// Sums along rows.
    fn row_sums(&mut self, strip: &Strip) -> String {
        self.hit("strip.row");
        let Strip { num, from, to, .. } = strip;
        let (ty, by) = (num.name(), self.small(*num));
        let first = match self.rng.below(4) {
            0 => format!("sum += {from}[[i, k]] * {from}[[k % h, 0]];"),
            1 => format!(
                "if {from}[[i, k]] > {by} {{ sum += {from}[[i, k]]; }} else {{ part -= {by}; }}"
            ),
            2 => format!("sum -= {from}[[i, w - 1 - k]];\npart *= {by};"),
            _ => format!("let mut t = {from}[[i, k]];\nt *= {by};\nsum = sum + t;"),
        };
        let second = match self.rng.below(3) {
            0 => String::new(),
            1 => format!("for k in 0..w {{ part += {from}[[i, k]]; }}\n"),
            _ => format!(
                "if w > 3 {{ let mut t = 0.0;\nfor k in 0..w {{ t += {from}[[i, k]]; }}\n{to}[[i, 1]] = t; }}\n"
            ),
        };
        let (before, after) =
            if self.rng.percent(50) { (second, String::new()) } else { (String::new(), second) };
        let suffix = if self.rng.percent(50) { format!("_{ty}") } else { String::new() };
        format!(
            "let [h, w] = {from}.shape();\nfor i in 0..h {{\nlet mut sum = 0.0{suffix};\nlet mut part = {by};\n\
             {before}for k in 0..w {{\n{first}\n}}\n{after}{to}[[i, 0]] = sum + part;\n}}\n"
        )
    }

    /// Updates in place.
    fn update(&mut self, strip: &Strip) -> String {
        self.hit("strip.update");
        let Strip { num, from, to, .. } = strip;
        let by = self.small(*num);
        let other = match self.rng.below(6) {
            0 => format!("{to}[[i, 0]] * {to}[[0, j]]"),
            1 => format!("{to}[[0, j]] - {from}[[i, j]]"),
            2 => format!("(if j > 40 {{ {to}[[0, j]] }} else {{ {by} }})"),
            3 => "{ let t = first; t * t }".to_owned(),
            4 => "first".to_owned(),
            _ => format!("-{to}[[i, 0]]").replace('-', if *num == Num::U8 { "!" } else { "-" }),
        };
        let ops: &[&str] = match num.is_float() {
            true => &["+=", "-=", "*=", "="],
            false => &["+=", "-=", "*=", "=", "&=", "|=", "^="],
        };
        let op = *self.rng.pick(ops);
        let first = match other.contains("first") {
            true => format!("let first = {to}[[0, j]];\n"),
            false => String::new(),
        };
        let own = if op == "=" { format!("{to}[[i, j]] * {by} - ") } else { String::new() };
        let start = self.rng.within(1, 3);
        format!(
            "let [h, w] = {to}.shape();\nfor (i, j) in qd::ndrange((1..h, {start}..w)) {{\n\
             {first}{to}[[i, j]] {op} {own}{other};\n}}\n"
        )
    }

    /// Atomics on elements that iterations choose.
    fn scatter(&mut self, strip: &Strip) -> String {
        self.hit("strip.scatter");
        let Strip { num, from, to, .. } = strip;
        let op = *self.rng.pick(&["add", "add", "min", "max", "and", "or", "xor"]);
        let value = match self.rng.below(5) {
            0 => "1".to_owned(),
            1 => format!("{from}[i]"),
            2 => format!("{from}[(i + 1) % {from}.len()] ^ {from}[i]"),
            3 => format!("i as {}", num.name()),
            _ => {
                let text = self.expr(&Ty::Num(*num), 2);
                format!("{{ let other: {} = {text}; other }}", num.name())
            }
        };
        let chosen =
            *self.rng.pick(&["from[i] as usize % bins", "(from[i] as u8 as usize + i) % bins"]);
        let chosen = chosen.replace("from", from);
        let mut body = format!("let at = {chosen};\n");
        let one = format!("qd::atomic_{op}(&mut {to}[at], {value});\n");
        body.push_str(&match self.rng.below(4) {
            0 => format!("if i % 3 != 1 {{ {one}}}\n"),
            1 => format!("for k in 0..2 {{ let at = (at + k) % bins;\n{one}}}\n"),
            _ => one,
        });
        match self.rng.below(5) {
            0 => body.push_str(&format!("qd::atomic_{op}(&mut {to}[1], {});\n", self.small(*num))),
            1 => body.push_str(&format!("qd::atomic_{op}(&mut {to}[bins - 1], {from}[i]);\n")),
            _ => {}
        }
        let header = match self.rng.below(4) {
            0 => format!("i in (0..{from}.len()).rev()"),
            1 => format!("i in (0..{from}.len()).step_by(2)"),
            _ => format!("i in 0..{from}.len()"),
        };
        format!("let bins = {to}.len();\nfor {header} {{\n{body}}}\n")
    }

    /// Literal indices in the last axis.
    fn channels(&mut self, strip: &Strip) -> String {
        self.hit("strip.channel");
        let Strip { num, from, to, .. } = strip;
        let by = self.small(*num);
        let mut body = String::new();
        for _ in 0..self.rng.within(1, 3) {
            let (read, written) = (self.rng.below(2), self.rng.below(2));
            body.push_str(&match self.rng.below(4) {
                0 => format!("{to}[[i, j, {written}]] = {from}[[i, j, {read}]] * {by};\n"),
                1 => format!(
                    "for c in 0..2 {{ {to}[[i, j, c]] += {from}[[i, (j + {read}).min(w - 1), c]]; }}\n"
                ),
                2 => format!(
                    "if {from}[[i, j, 1]] > {by} {{ {to}[[i, j, {written}]] -= {from}[[i, j, 0]]; }}\n"
                ),
                _ => format!(
                    "{to}[[i, j, 1]] = {from}[[i, j, {from}.shape()[2] - 1]] - {from}[[i, j, {read}]];\n"
                ),
            });
        }
        format!("let [h, w, _] = {from}.shape();\nfor (i, j) in qd::ndrange([h, w]) {{\n{body}}}\n")
    }
}
