//! The layout of a table, as the program declares it: the width of rows, their initial values, admission of ids and eviction.

use std::collections::HashMap;

use oarlock_ir::{Attr, Dim, Error, Kind, Name, Program, Result, VarKind};
use oarlock_tensor::table::{RowInit, RowPolicy, SHOWN, Spec, State};

use crate::server::updates::merged_from;

/// The parameter that a block updates and its state, if these are rows of a table.
pub(super) fn row_variables(block: &Program, grad: &Name) -> Option<(Name, Vec<Name>)> {
    let is_rows = |name: &Name| block.global().var(name).is_some_and(|v| v.kind == VarKind::SelectedRows);
    let op = block.global().ops.iter().rev().find(|op| op.outputs.has("ParamOut"))?;
    let param = op.inputs.get("Param").first().filter(|name| is_rows(name))?.clone();
    let state = op.inputs.iter().filter(|(slot, _)| **slot != "Param" && **slot != "Grad").flat_map(|(_, names)| names);
    let state = state.filter(|name| is_rows(name) && *name != grad).cloned().collect();
    Some((param, state))
}

/// The block over tensors of the rows that were taken out.
pub(super) fn as_tensors(mut block: Program, param: &Name, states: &[Name], grad: &Name, width: usize) -> Program {
    for name in states.iter().chain([param]) {
        if let Some(var) = block.global_mut().vars.get_mut(name) {
            var.kind = VarKind::Tensor;
            var.shape.0 = vec![Dim::Any, Dim::Is(width)];
        }
    }
    if merged_from(&block, grad).is_some()
        && let Some(var) = block.global_mut().vars.get_mut(grad)
    {
        // The mean lives only while the block runs.
        var.persistable = false;
    }
    block
}

pub(super) fn spec(program: &Program, param: &Name, states: &[Name], initial: &Initial) -> Result<Spec> {
    let var = program.expect_var(0, param)?;
    let sizes: Vec<Option<usize>> = var.shape.iter().map(|d| d.known()).collect();
    let width =
        sizes.iter().skip(1).try_fold(1, |all, size| Some(all * (*size)?)).filter(|w| *w > 0).ok_or_else(|| {
            Error::new(Kind::Shape, format!("table `{param}` is declared {}, without the size of its rows", var.shape))
        })?;
    let state = states.iter().map(|name| State { width, initial: initial.constant(name) }).collect();
    let (init, seed) = initial.row(param);
    let RowPolicy { admission, retention } = rules(program, param)?;
    Ok(Spec {
        name: param.to_string(),
        width,
        state,
        init,
        seed,
        max_rows: sizes[0].map(|rows| rows as u64),
        admission,
        retention,
        history: 0,
    })
}

/// Which ids get a row and which rows go, as the program says.
fn rules(program: &Program, table: &Name) -> Result<RowPolicy> {
    let mut lookups = program.blocks().iter().flat_map(|b| &b.ops).filter(|op| op.op_type == "lookup_sparse_table");
    let op = lookups.find(|op| op.inputs.get("W").contains(table));
    let text = |name: &str| match op.and_then(|op| op.attrs.get(name)) {
        Some(Attr::String(text)) => text.as_str(),
        _ => "",
    };
    let rules = RowPolicy::parse(text("entry"), text("evict"));
    rules.map_err(|why| Error::new(Kind::Argument, format!("table `{table}`: {why}")))
}

/// How many numbers a gradient has for each row.
pub(super) fn grad_width(spec: &Spec) -> usize {
    let told = spec.retention.score.is_some_and(|score| score.told);
    if told { spec.width + SHOWN } else { spec.width }
}

/// How rows start, as the program says: `variable:operator&attribute=value&...`.
pub(super) struct Initial(HashMap<String, (String, HashMap<String, f64>)>);

impl Initial {
    pub(super) fn of(program: &Program) -> Initial {
        let lookups = program.blocks().iter().flat_map(|b| &b.ops).filter(|op| op.op_type == "lookup_sparse_table");
        let mut found = HashMap::new();
        for op in lookups {
            let Some(Attr::Strings(texts)) = op.attrs.get("initializer") else { continue };
            for (variable, how) in texts.iter().filter_map(|text| text.split_once(':')) {
                let mut parts = how.split('&');
                let operator = parts.next().unwrap_or_default().to_string();
                let number =
                    |part: &str| part.split_once('=').and_then(|(n, v)| Some((n.to_string(), v.parse().ok()?)));
                found.insert(variable.to_string(), (operator, parts.filter_map(number).collect()));
            }
        }
        Initial(found)
    }

    fn row(&self, name: &Name) -> (RowInit, u64) {
        let Some((operator, attrs)) = self.0.get(name.as_str()) else { return (RowInit::Constant(0.0), 0) };
        let get = |attr: &str, default: f64| attrs.get(attr).copied().unwrap_or(default) as f32;
        let init = match operator.as_str() {
            "uniform_random" => RowInit::Uniform { min: get("min", -1.0), max: get("max", 1.0) },
            "gaussian_random" => RowInit::Gaussian { mean: get("mean", 0.0), std: get("std", 1.0) },
            "truncated_gaussian_random" => RowInit::TruncatedGaussian { mean: get("mean", 0.0), std: get("std", 1.0) },
            _ => RowInit::Constant(get("value", 0.0)),
        };
        (init, attrs.get("seed").copied().unwrap_or(0.0) as u64)
    }

    fn constant(&self, name: &Name) -> f32 {
        self.0.get(name.as_str()).and_then(|(_, attrs)| attrs.get("value").copied()).unwrap_or(0.0) as f32
    }
}
