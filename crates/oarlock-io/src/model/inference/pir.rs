//! Networks as 3.x writes them: JSON in place of a `ProgramDesc`, operators under other names.
//!
//! A constant operand of 3.x (the axis of a sum) is an attribute in Fluid; so constants become operators
//! only where a tensor is asked for.

use std::collections::{BTreeSet, HashMap};

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Shape, Var, VarKind, VarType};
use oarlock_tensor::DType;
use serde_json::Value as Json;

use super::export::add_list;
use super::{FEED, FETCH};

/// Reads a network and translates it.
pub(super) fn read_program(bytes: &[u8]) -> Result<Program> {
    let all: Json = serde_json::from_slice(bytes).map_err(|e| bad(format!("not JSON: {e}")))?;
    if all["base_code"]["magic"] != "pir" {
        return Err(bad("it does not say that it is a network (`base_code.magic`)"));
    }
    let mut b = Builder { program: Program::new(), values: HashMap::new(), feeds: 0, fetches: 0 };
    let ops = only_block(&all)?;
    refuse_unknown(ops)?;
    for (i, op) in ops.iter().enumerate() {
        b.add(op).map_err(|e| e.note(format!("operator {i}, `{}`", name_of(op))))?;
    }
    b.finish()
}

fn bad(what: impl Into<String>) -> Error {
    Error::new(Kind::Format, what).help("the file is damaged, or not a network that 3.x saved")
}

/// The operators of the only block.
fn only_block(all: &Json) -> Result<&Vec<Json>> {
    let one = |list: &'_ Json| list.as_array().is_some_and(|l| l.len() == 1);
    let regions = &all["program"]["regions"];
    if !one(regions) || !one(&regions[0]["blocks"]) {
        let what = "networks of several blocks (loops, conditions) cannot be read in the JSON form";
        return Err(Error::new(Kind::Unsupported, what).help("export the model in the `.pdmodel` form"));
    }
    regions[0]["blocks"][0]["ops"].as_array().ok_or_else(|| bad("it has no operators"))
}

fn name_of(op: &Json) -> &str {
    op["#"].as_str().unwrap_or("?")
}

/// Names every operator that cannot be translated, not just the first.
fn refuse_unknown(ops: &[Json]) -> Result<()> {
    let known = |name: &&str| STRUCTURE.contains(name) || RULES.iter().any(|rule| rule.pir == *name);
    let unknown: BTreeSet<&str> = ops.iter().map(name_of).filter(|name| !known(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = unknown.iter().map(|n| format!("`{}`", n.split_once('.').map_or(*n, |(_, n)| n))).collect();
    let what = format!("operators of 3.x without a counterpart here: {}", list.join(", "));
    Err(Error::new(Kind::Unsupported, what).help("export the model in the `.pdmodel` form"))
}

/// Operators that make up the network's frame.
const STRUCTURE: [&str; 6] = ["p", "1.data", "1.fetch", "0.combine", "1.full", "1.full_int_array"];

/// How an operator of 3.x is said in Fluid.
struct Rule {
    pir: &'static str,
    fluid: &'static str,
    args: &'static [Arg],
    /// Name in 3.x, name in Fluid, type in Fluid.
    attrs: &'static [(&'static str, &'static str, To)],
    fixed: &'static [(&'static str, Fixed)],
}

/// The treatment of an operand.
enum Arg {
    Slot(&'static str),
    /// A constant that Fluid has as an attribute: one number.
    Int(&'static str),
    /// The axes of a reduction; none means all.
    Axes,
}

enum To {
    Bool,
    Int,
    Long,
}

#[derive(Clone, Copy)]
enum Fixed {
    Int(i32),
    Float(f32),
    Bool(bool),
}

/// An operator with one operand and no attributes.
const fn unary(pir: &'static str, fluid: &'static str) -> Rule {
    Rule { pir, fluid, args: &[Arg::Slot("X")], attrs: &[], fixed: &[] }
}

/// An operator on two tensors, element by element, with numpy's rule for sizes.
const fn elementwise(pir: &'static str, fluid: &'static str) -> Rule {
    let args = &[Arg::Slot("X"), Arg::Slot("Y")];
    Rule { pir, fluid, args, attrs: &[], fixed: &[("axis", Fixed::Int(-1))] }
}

const RULES: [Rule; 17] = [
    unary("1.relu", "relu"),
    unary("1.sigmoid", "sigmoid"),
    unary("1.tanh", "tanh"),
    unary("1.exp", "exp"),
    unary("1.log", "log"),
    unary("1.sqrt", "sqrt"),
    unary("1.square", "square"),
    unary("1.abs", "abs"),
    elementwise("1.add", "elementwise_add"),
    elementwise("1.subtract", "elementwise_sub"),
    elementwise("1.multiply", "elementwise_mul"),
    elementwise("1.divide", "elementwise_div"),
    Rule {
        pir: "1.matmul",
        fluid: "matmul",
        args: &[Arg::Slot("X"), Arg::Slot("Y")],
        attrs: &[("transpose_x", "transpose_X", To::Bool), ("transpose_y", "transpose_Y", To::Bool)],
        fixed: &[("alpha", Fixed::Float(1.0))],
    },
    Rule {
        pir: "1.embedding",
        fluid: "lookup_table_v2",
        args: &[Arg::Slot("Ids"), Arg::Slot("W")],
        attrs: &[("padding_idx", "padding_idx", To::Long)],
        fixed: &[("is_sparse", Fixed::Bool(false))],
    },
    Rule {
        pir: "1.sum",
        fluid: "reduce_sum",
        args: &[Arg::Slot("X"), Arg::Axes],
        attrs: &[("keepdim", "keep_dim", To::Bool)],
        fixed: &[],
    },
    Rule { pir: "1.concat", fluid: "concat", args: &[Arg::Slot("X"), Arg::Int("axis")], attrs: &[], fixed: &[] },
    Rule {
        pir: "1.softmax",
        fluid: "softmax",
        args: &[Arg::Slot("X")],
        attrs: &[("axis", "axis", To::Int)],
        fixed: &[],
    },
];

/// A numbered value of the file.
#[derive(Clone)]
enum KnownValue {
    Tensors(Vec<Name>),
    Constant { numbers: Vec<f64>, ty: VarType },
}

struct Builder {
    program: Program,
    values: HashMap<i64, KnownValue>,
    feeds: i32,
    fetches: i32,
}

impl Builder {
    fn add(&mut self, op: &Json) -> Result<()> {
        match name_of(op) {
            "p" => self.parameter(op),
            "1.data" => self.data(op),
            "1.fetch" => self.fetch(op),
            "0.combine" => self.combine(op),
            "1.full" | "1.full_int_array" => self.constant(op),
            name => match RULES.iter().find(|rule| rule.pir == name) {
                Some(rule) => self.translate(op, rule),
                None => Err(bad("the operator is unknown")),
            },
        }
    }

    fn finish(mut self) -> Result<Program> {
        if self.feeds > 0 {
            add_list(&mut self.program, FEED, VarKind::FeedList);
        }
        if self.fetches == 0 {
            return Err(bad("it computes nothing: it has no `fetch`"));
        }
        add_list(&mut self.program, FETCH, VarKind::FetchList);
        Ok(self.program)
    }

    fn declare(&mut self, name: &str, ty: VarType) -> Result<&mut Var> {
        if self.program.global().var(name).is_some() {
            return Err(bad(format!("two values are called `{name}`")));
        }
        Ok(self.program.global_mut().set_var(Var::new(name, ty)))
    }

    fn push(&mut self, op: Op) {
        self.program.global_mut().ops.push(op);
    }

    fn parameter(&mut self, op: &Json) -> Result<()> {
        let name = op["A"][3].as_str().ok_or_else(|| bad("a parameter has no name"))?;
        let ty = tensor_type(&op["O"]["TT"])?;
        let var = self.declare(name, ty)?;
        var.persistable = true;
        var.meta.is_parameter = true;
        self.values.insert(id(&op["O"])?, KnownValue::Tensors(vec![name.into()]));
        Ok(())
    }

    fn data(&mut self, op: &Json) -> Result<()> {
        let name = attr(op, "name").and_then(Json::as_str).ok_or_else(|| bad("an input has no name"))?;
        let ty = tensor_type(&op["O"][0]["TT"])?;
        let var = self.declare(name, ty)?;
        var.need_check_feed = true;
        var.meta.is_data = true;
        let feed = Op::new(FEED).input("X", [FEED]).output("Out", [name]).attr("col", self.feeds);
        self.feeds += 1;
        self.push(feed);
        self.values.insert(id(&op["O"][0])?, KnownValue::Tensors(vec![name.into()]));
        Ok(())
    }

    fn fetch(&mut self, op: &Json) -> Result<()> {
        let col = attr(op, "col").and_then(Json::as_i64).and_then(|col| i32::try_from(col).ok());
        let col = col.ok_or_else(|| bad("an output has no column"))?;
        let from = self.tensors(&op["I"][0])?;
        self.fetches += 1;
        self.push(Op::new(FETCH).input("X", from).output("Out", [FETCH]).attr("col", col));
        Ok(())
    }

    fn combine(&mut self, op: &Json) -> Result<()> {
        let mut parts = Vec::new();
        for operand in operands(op)? {
            parts.extend(self.tensors(operand)?);
        }
        self.values.insert(id(&op["O"][0])?, KnownValue::Tensors(parts));
        Ok(())
    }

    fn constant(&mut self, op: &Json) -> Result<()> {
        let numbers = match attr(op, "value") {
            Some(Json::Array(list)) => list.iter().map(|n| n["D"].as_f64()).collect(),
            Some(one) => one.as_f64().map(|n| vec![n]),
            None => None,
        };
        let numbers = numbers.ok_or_else(|| bad("a constant has no value"))?;
        let ty = tensor_type(&op["O"][0]["TT"])?;
        self.values.insert(id(&op["O"][0])?, KnownValue::Constant { numbers, ty });
        Ok(())
    }

    fn known(&self, operand: &Json) -> Result<&KnownValue> {
        self.values.get(&id(operand)?).ok_or_else(|| bad("an operand is used before it is made"))
    }

    /// The tensors that an operand stands for.
    fn tensors(&mut self, operand: &Json) -> Result<Vec<Name>> {
        let id = id(operand)?;
        let (numbers, ty) = match self.known(operand)? {
            KnownValue::Tensors(names) => return Ok(names.clone()),
            KnownValue::Constant { numbers, ty } => (numbers.clone(), ty.clone()),
        };
        let [value] = numbers[..] else {
            let what = "a list of numbers is used as a tensor, which cannot be translated";
            return Err(Error::new(Kind::Unsupported, what));
        };
        let name = format!("constant_{id}.tmp_0");
        let op = Op::new("fill_constant")
            .output("Out", [name.as_str()])
            .attr("shape", ty.shape.to_i64())
            .attr("dtype", ty.dtype.proto())
            .attr("value", value as f32);
        self.declare(&name, ty)?;
        self.push(op);
        let names = vec![Name::from(name)];
        self.values.insert(id, KnownValue::Tensors(names.clone()));
        Ok(names)
    }

    /// The numbers of an operand that must be constant.
    fn numbers(&self, operand: &Json) -> Result<Vec<i32>> {
        match self.known(operand)? {
            KnownValue::Constant { numbers, .. } => Ok(numbers.iter().map(|n| *n as i32).collect()),
            KnownValue::Tensors(_) => {
                let what = "an axis is computed, which cannot be translated";
                Err(Error::new(Kind::Unsupported, what).help("export the model with a constant axis"))
            }
        }
    }

    fn translate(&mut self, op: &Json, rule: &Rule) -> Result<()> {
        let operands = operands(op)?;
        if operands.len() != rule.args.len() {
            return Err(bad(format!("{} operands where {} belong", operands.len(), rule.args.len())));
        }
        let mut new = Op::new(rule.fluid);
        for (arg, operand) in rule.args.iter().zip(operands) {
            new = match arg {
                Arg::Slot(slot) => new.input(slot, self.tensors(operand)?),
                Arg::Int(name) => match self.numbers(operand)?[..] {
                    [n] => new.attr(name, n),
                    _ => return Err(bad("one number belongs where several stand")),
                },
                Arg::Axes => {
                    let axes = self.numbers(operand)?;
                    new.attr("reduce_all", axes.is_empty()).attr("dim", axes)
                }
            };
        }
        for (pir, fluid, to) in rule.attrs {
            let value = attr(op, pir).and_then(|v| to.convert(v));
            new = new.attr(fluid, value.ok_or_else(|| bad(format!("attribute `{pir}` is missing or malformed")))?);
        }
        for (name, value) in rule.fixed {
            new = new.attr(name, Attr::from(*value));
        }
        let out = &op["O"][0];
        let name = format!("{}_{}.tmp_0", rule.fluid, id(out)?);
        self.declare(&name, tensor_type(&out["TT"])?)?;
        self.push(new.output("Out", [name.as_str()]));
        self.values.insert(id(out)?, KnownValue::Tensors(vec![name.into()]));
        Ok(())
    }
}

impl To {
    fn convert(&self, value: &Json) -> Option<Attr> {
        Some(match self {
            To::Bool => Attr::Bool(value.as_bool()?),
            To::Int => Attr::Int(i32::try_from(value.as_i64()?).ok()?),
            To::Long => Attr::Long(value.as_i64()?),
        })
    }
}

impl From<Fixed> for Attr {
    fn from(fixed: Fixed) -> Attr {
        match fixed {
            Fixed::Int(n) => Attr::Int(n),
            Fixed::Float(n) => Attr::Float(n),
            Fixed::Bool(b) => Attr::Bool(b),
        }
    }
}

/// The number of a value.
fn id(value: &Json) -> Result<i64> {
    value["%"].as_i64().ok_or_else(|| bad("a value has no number"))
}

fn operands(op: &Json) -> Result<&Vec<Json>> {
    op["I"].as_array().ok_or_else(|| bad("an operator has no list of operands"))
}

/// The value of an attribute.
fn attr<'a>(op: &'a Json, name: &str) -> Option<&'a Json> {
    op["A"].as_array()?.iter().find(|a| a["N"] == name).map(|a| &a["AT"]["D"])
}

/// `{"#": "0.t_dtensor", "D": [element type, sizes, ...]}`
fn tensor_type(ty: &Json) -> Result<VarType> {
    const DTYPES: [(&str, DType); 10] = [
        ("0.t_bool", DType::Bool),
        ("0.t_i8", DType::I8),
        ("0.t_ui8", DType::U8),
        ("0.t_i16", DType::I16),
        ("0.t_i32", DType::I32),
        ("0.t_i64", DType::I64),
        ("0.t_f16", DType::F16),
        ("0.t_bf16", DType::BF16),
        ("0.t_f32", DType::F32),
        ("0.t_f64", DType::F64),
    ];
    if ty["#"] != "0.t_dtensor" {
        return Err(bad(format!("type {} is not a tensor's", ty["#"])));
    }
    let element = &ty["D"][0]["#"];
    let dtype = DTYPES.iter().find(|(name, _)| element == name);
    let (_, dtype) = dtype.ok_or_else(|| bad(format!("element type {element} is unknown")))?;
    let sizes: Option<Vec<i64>> = ty["D"][1].as_array().and_then(|d| d.iter().map(Json::as_i64).collect());
    let sizes = sizes.ok_or_else(|| bad("a tensor has no sizes"))?;
    Ok(VarType::tensor(*dtype, Shape::from_i64(&sizes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = r##"{"base_code": {"magic": "pir"}, "program": {"regions": [{"blocks": [{"ops": [
        {"#": "1.data", "A": [{"N": "name", "AT": {"D": "x"}}], "I": [],
         "O": [{"%": 1, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 2]]}}]},
        {"#": "1.relu", "A": [], "I": [{"%": 1}],
         "O": [{"%": 2, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 2]]}}]},
        {"#": "1.fetch", "A": [{"N": "col", "AT": {"D": 0}}], "I": [{"%": 2}], "O": []}
    ]}]}]}}"##;

    #[test]
    fn a_network_is_translated() {
        let program = read_program(MODEL.as_bytes()).unwrap();
        let expected = "
            block 0 {
                var x: f32[?, 2]
                var relu_2.tmp_0: f32[?, 2]
                var feed: feed_list persistable
                var fetch: fetch_list persistable
                x = feed(X: feed) {col: 0}
                relu_2.tmp_0 = relu(X: x)
                fetch = fetch(X: relu_2.tmp_0) {col: 0}
            }";
        assert_eq!(oarlock_ir::diff(&program, &Program::from_text(expected).unwrap(), &[]), None);
    }

    #[test]
    fn unknown_operators_are_all_named() {
        let text = MODEL.replace("1.relu", "1.flash_attn").replace("1.fetch", "1.send_v2");
        let e = read_program(text.as_bytes()).unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[unsupported]: operators of 3.x without a counterpart here: `flash_attn`, `send_v2`\n  \
             help: export the model in the `.pdmodel` form"
        );
    }
}
