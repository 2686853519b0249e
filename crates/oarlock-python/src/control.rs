//! Control flow: constructs that Python enters and leaves, and those that take functions.

use oarlock::declare::Made;
use oarlock::layers::{Boot, Branch, CondBlock, DynamicRnn, IfElse, Memory, StaticRnn, Switch, While};
use oarlock::{Error, Kind, Net, VarRef};
use parking_lot::Mutex;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::args::{PyArgs, var_of};
use crate::builder::{Builder, Context};
use crate::error::IntoPy;

/// Adds the classes to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Construct>()?;
    m.add_function(wrap_pyfunction!(cond, m)?)?;
    m.add_function(wrap_pyfunction!(case, m)?)?;
    m.add_function(wrap_pyfunction!(switch_case, m)?)?;
    m.add_function(wrap_pyfunction!(while_loop, m)?)
}

/// A construct under way.
enum Kept {
    While(While),
    Switch(Switch, Vec<CondBlock>),
    Cond(CondBlock),
    IfElse(IfElse, Vec<CondBlock>),
    StaticRnn(StaticRnn),
    DynamicRnn(DynamicRnn),
}

/// A construct: `call` does one step of it by name.
#[pyclass(frozen)]
pub(crate) struct Construct(Mutex<Option<Kept>>);

fn ended() -> PyErr {
    PyRuntimeError::new_err("this block was ended already")
}

fn out_of_place(step: &str) -> PyErr {
    PyRuntimeError::new_err(format!("`{step}` does not belong here"))
}

#[pymethods]
impl Construct {
    /// Begins a construct: `while`, `switch`, `cond`, `if_else`, `static_rnn` or `dynamic_rnn`.
    #[new]
    fn new(builder: &Builder, at: Context<'_>, kind: &str, args: Bound<'_, PyDict>) -> PyResult<Construct> {
        let args = PyArgs::new(kind, args)?;
        let name = args.opt_str("name").py()?;
        let kept = builder.within(&at, |net| {
            if let Some(name) = name {
                net.named(name);
            }
            let kept = begin(net, kind, &args);
            net.take_name();
            kept
        })?;
        Ok(Construct(Mutex::new(Some(kept))))
    }

    /// One step.
    fn call<'py>(
        &self,
        py: Python<'py>,
        builder: &Builder,
        at: Context<'py>,
        step: &str,
        args: Bound<'py, PyDict>,
        wrap: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = PyArgs::new(step, args)?;
        // Not locked meanwhile: a step may call Python.
        let this = self.0.lock().take().ok_or_else(ended)?;
        let (this, made) = builder.within(&at, |net| advance(this, net, step, &args))?;
        *self.0.lock() = this;
        Builder::wrap(py, &wrap, made)
    }
}

fn begin(net: &mut Net, kind: &str, args: &PyArgs<'_>) -> PyResult<Kept> {
    Ok(match kind {
        "while" => Kept::While(While::new(net, &args.var("cond").py()?).py()?.is_test(args.bool("is_test").py()?)),
        "switch" => Kept::Switch(Switch::new(), Vec::new()),
        "cond" if args.bool("is_scalar_condition").py()? => {
            Kept::Cond(CondBlock::when(net, &args.var("cond").py()?).py()?)
        }
        "cond" => Kept::Cond(CondBlock::unless_empty(net, &args.var("cond").py()?)),
        "if_else" => Kept::IfElse(IfElse::new(net, &args.var("cond").py()?), Vec::new()),
        "static_rnn" => Kept::StaticRnn(StaticRnn::new(net)),
        "dynamic_rnn" => Kept::DynamicRnn(DynamicRnn::new(net)),
        _ => return Err(PyTypeError::new_err(format!("there is no control flow `{kind}`"))),
    })
}

/// Does one step; returns the construct, unless this was its last.
fn advance(kept: Kept, net: &mut Net, step: &str, a: &PyArgs<'_>) -> PyResult<(Option<Kept>, Made)> {
    match kept {
        Kept::While(w) => while_step(w, net, step),
        Kept::Cond(c) => cond_step(c, net, step),
        Kept::Switch(s, open) => switch_step(s, open, net, step, a),
        Kept::IfElse(i, open) => if_else_step(i, open, net, step, a),
        Kept::StaticRnn(r) => static_rnn_step(r, net, step, a),
        Kept::DynamicRnn(r) => dynamic_rnn_step(r, net, step, a),
    }
}

fn while_step(mut w: While, net: &mut Net, step: &str) -> PyResult<(Option<Kept>, Made)> {
    match step {
        "enter" => {
            w.enter(net);
            Ok((Some(Kept::While(w)), Made::Nothing))
        }
        "leave" => w.leave(net).py().map(|()| (None, Made::Nothing)),
        _ => Err(out_of_place(step)),
    }
}

fn cond_step(mut c: CondBlock, net: &mut Net, step: &str) -> PyResult<(Option<Kept>, Made)> {
    match step {
        "enter" => {
            c.enter(net);
            Ok((Some(Kept::Cond(c)), Made::Nothing))
        }
        "leave" => c.leave(net).py().map(|()| (None, Made::Nothing)),
        _ => Err(out_of_place(step)),
    }
}

fn switch_step(
    mut s: Switch,
    mut open: Vec<CondBlock>,
    net: &mut Net,
    step: &str,
    a: &PyArgs<'_>,
) -> PyResult<(Option<Kept>, Made)> {
    match step {
        "case" | "default" => {
            let mut block =
                if step == "case" { s.begin_case(net, &a.var("condition").py()?) } else { s.begin_default(net) }
                    .py()?;
            block.enter(net);
            open.push(block);
        }
        "leave" => open.pop().ok_or_else(ended)?.leave(net).py()?,
        _ => return Err(out_of_place(step)),
    }
    Ok((Some(Kept::Switch(s, open)), Made::Nothing))
}

fn if_else_step(
    mut i: IfElse,
    mut open: Vec<CondBlock>,
    net: &mut Net,
    step: &str,
    a: &PyArgs<'_>,
) -> PyResult<(Option<Kept>, Made)> {
    let mut made = Made::Nothing;
    match step {
        "true_block" => open.push(i.enter_true(net)),
        "false_block" => open.push(i.enter_false(net)),
        "leave" => i.leave(open.pop().ok_or_else(ended)?, net).py()?,
        "input" => made = i.input(net, &a.var("x").py()?).py()?.into(),
        "output" => i.output(net, &a.vars("outs").py()?.iter().collect::<Vec<_>>()).py()?,
        "merge" => return Ok((None, i.merge(net).py()?.into())),
        _ => return Err(out_of_place(step)),
    }
    Ok((Some(Kept::IfElse(i, open)), made))
}

fn static_rnn_step(mut r: StaticRnn, net: &mut Net, step: &str, a: &PyArgs<'_>) -> PyResult<(Option<Kept>, Made)> {
    let mut made = Made::Nothing;
    match step {
        "enter" => r.enter(net),
        "step_input" => made = r.step_input(net, &a.var("x").py()?).py()?.into(),
        "memory" => {
            made = match a.opt_var("init").py()? {
                Some(init) => r.memory(net, &init).py()?.into(),
                None => r
                    .boot_memory(
                        net,
                        &Boot {
                            shape: a.i32s("shape").py()?,
                            batch_ref: a.var("batch_ref").py()?,
                            value: a.f32("init_value").py()?,
                            init_batch_dim: a.i32("init_batch_dim_idx").py()?,
                            ref_batch_dim: a.i32("ref_batch_dim_idx").py()?,
                        },
                    )
                    .py()?
                    .into(),
            }
        }
        "update_memory" => r.update_memory(&a.var("mem").py()?, &a.var("var").py()?).py()?,
        "step_output" => r.step_output(net, &a.var("o").py()?).py()?,
        "leave" => return Ok((None, r.leave(net).py()?.into())),
        _ => return Err(out_of_place(step)),
    }
    Ok((Some(Kept::StaticRnn(r)), made))
}

fn dynamic_rnn_step(mut r: DynamicRnn, net: &mut Net, step: &str, a: &PyArgs<'_>) -> PyResult<(Option<Kept>, Made)> {
    let mut made = Made::Nothing;
    match step {
        "enter" => r.enter(net).py()?,
        "step_input" => made = r.step_input(net, &a.var("x").py()?, a.i32("level").py()?).py()?.into(),
        "static_input" => made = r.static_input(net, &a.var("x").py()?).py()?.into(),
        "memory" => {
            made = match a.opt_var("init").py()? {
                Some(init) => r.memory(net, &init, a.bool("need_reorder").py()?).py()?.into(),
                None => {
                    let options =
                        Memory::shape(a.i32s("shape").py()?).value(a.f32("value").py()?).dtype(a.dtype("dtype").py()?);
                    r.new_memory(net, options).py()?.into()
                }
            }
        }
        "update_memory" => r.update_memory(&a.var("ex_mem").py()?, &a.var("new_mem").py()?).py()?,
        "output" => r.output(net, &a.vars("outputs").py()?.iter().collect::<Vec<_>>()).py()?,
        "leave" => return Ok((None, r.leave(net).py()?.into())),
        _ => return Err(out_of_place(step)),
    }
    Ok((Some(Kept::DynamicRnn(r)), made))
}

/// The arguments of building with Python functions, and the exception one of them raised.
struct Calls<'a, 'py> {
    builder: &'a Builder,
    at: &'a Context<'py>,
    wrap: &'a Bound<'py, PyAny>,
    raised: Mutex<Option<PyErr>>,
}

impl<'py> Calls<'_, 'py> {
    /// Calls a function that builds, with variables, and takes the variables it returns.
    fn call(&self, net: &mut Net, f: &Bound<'py, PyAny>, args: &[VarRef]) -> oarlock::Result<Vec<VarRef>> {
        let built = self.builder.suspended(self.at, net, || {
            let wrapped = args.iter().map(|v| self.wrap.call1((v.block(), v.name().as_str())));
            let wrapped = pyo3::types::PyTuple::new(f.py(), wrapped.collect::<PyResult<Vec<_>>>()?)?;
            let returned = f.call1(wrapped)?;
            if returned.is_none() {
                return Ok(Vec::new());
            }
            let one = |v: PyResult<Bound<'py, PyAny>>| {
                var_of(&v?).ok_or_else(|| PyTypeError::new_err("a branch or loop body must return Variables"))
            };
            match var_of(&returned) {
                Some(var) => Ok(vec![var]),
                None => returned.try_iter()?.map(one).collect(),
            }
        });
        built.map_err(|e| {
            *self.raised.lock() = Some(e);
            Error::new(Kind::Argument, "a function that builds a block failed")
        })
    }

    fn finish(self, result: oarlock::Result<Vec<VarRef>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        if let Some(raised) = self.raised.lock().take() {
            return Err(raised);
        }
        result.py()?.iter().map(|v| self.wrap.call1((v.block(), v.name().as_str()))).collect()
    }
}

fn build<'py>(
    builder: &Builder,
    at: &Context<'py>,
    wrap: &Bound<'py, PyAny>,
    work: impl FnOnce(&mut Net, &Calls<'_, 'py>) -> oarlock::Result<Vec<VarRef>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let calls = Calls { builder, at, wrap, raised: Mutex::new(None) };
    let result = builder.within(at, |net| Ok(work(net, &calls)))?;
    calls.finish(result)
}

fn as_var(value: &Bound<'_, PyAny>, what: &str) -> PyResult<VarRef> {
    var_of(value).ok_or_else(|| PyTypeError::new_err(format!("{what} must be a Variable")))
}

/// `cond(pred, true_fn, false_fn)`; both functions return flat lists.
#[pyfunction]
fn cond<'py>(
    builder: &Builder,
    at: Context<'py>,
    pred: Bound<'py, PyAny>,
    true_fn: Bound<'py, PyAny>,
    false_fn: Bound<'py, PyAny>,
    wrap: Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let pred = as_var(&pred, "`pred`")?;
    build(builder, &at, &wrap, |net, calls| {
        net.cond(&pred, |net| calls.call(net, &true_fn, &[]), |net| calls.call(net, &false_fn, &[]))
    })
}

/// `case(pred_fn_pairs, default)`.
#[pyfunction]
fn case<'py>(
    builder: &Builder,
    at: Context<'py>,
    pairs: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    default: Option<Bound<'py, PyAny>>,
    wrap: Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let conds = pairs.iter().map(|(c, _)| as_var(c, "a condition")).collect::<PyResult<Vec<_>>>()?;
    build(builder, &at, &wrap, |net, calls| {
        let branch = |f: &Bound<'py, PyAny>| -> Branch<'_> {
            let f = f.clone();
            Box::new(move |net| calls.call(net, &f, &[]))
        };
        let list = conds.into_iter().zip(&pairs).map(|(c, (_, f))| (c, branch(f))).collect();
        net.case(list, default.as_ref().map(branch))
    })
}

/// `switch_case(branch_index, branch_fns, default)`.
#[pyfunction]
fn switch_case<'py>(
    builder: &Builder,
    at: Context<'py>,
    index: Bound<'py, PyAny>,
    branches: Vec<(i64, Bound<'py, PyAny>)>,
    default: Option<Bound<'py, PyAny>>,
    wrap: Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let index = as_var(&index, "`branch_index`")?;
    build(builder, &at, &wrap, |net, calls| {
        let branch = |f: &Bound<'py, PyAny>| -> Branch<'_> {
            let f = f.clone();
            Box::new(move |net| calls.call(net, &f, &[]))
        };
        let list = branches.iter().map(|(n, f)| (*n, branch(f))).collect();
        net.switch_case(&index, list, default.as_ref().map(branch))
    })
}

/// `while_loop(cond, body, loop_vars)`.
#[pyfunction]
fn while_loop<'py>(
    builder: &Builder,
    at: Context<'py>,
    cond: Bound<'py, PyAny>,
    body: Bound<'py, PyAny>,
    loop_vars: Vec<Bound<'py, PyAny>>,
    wrap: Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let vars = loop_vars.iter().map(|v| as_var(v, "a loop variable")).collect::<PyResult<Vec<_>>>()?;
    build(builder, &at, &wrap, |net, calls| {
        let holds = |net: &mut Net, vars: &[VarRef]| {
            let mut found = calls.call(net, &cond, vars)?;
            found.pop().ok_or_else(|| Error::new(Kind::Argument, "`cond` of `while_loop` must return a Variable"))
        };
        net.while_loop(holds, |net, vars| calls.call(net, &body, vars), &vars)
    })
}
