//! The difference of two checkpoints, variable by variable.

use std::collections::BTreeMap;
use std::fmt;

use oarlock_ir::{Error, Kind, Name, Result, Var, VarKind};
use oarlock_tensor::{Tensor, Value};

use super::{PARAMS, is_complete, variables};
use crate::model::vars::read_vars;
use crate::store::{Store, View};

/// How a variable of one checkpoint differs from another's.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Only the first has it.
    OnlyFirst,
    /// Only the second has it.
    OnlySecond,
    /// Type or sizes differ: those of the first, and of the second.
    Type(String, String),
    /// Elements differ: how many, and the largest distance between two.
    Values {
        /// How many elements differ.
        count: usize,
        /// The largest distance.
        largest: f64,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::OnlyFirst => f.write_str("only in the first"),
            Difference::OnlySecond => f.write_str("only in the second"),
            Difference::Type(a, b) => write!(f, "{a} against {b}"),
            Difference::Values { count, largest } => write!(f, "{count} elements differ, by at most {largest:e}"),
        }
    }
}

/// How the variables of two checkpoints differ, each given by its own folder.
pub fn diff_checkpoints(first: &dyn Store, second: &dyn Store) -> Result<Vec<(Name, Difference)>> {
    let complete = |store: &dyn Store| {
        let view = store.view()?;
        if is_complete(&*view) {
            return Ok(view);
        }
        let what = format!("{} is not a complete checkpoint", store.describe());
        Err(Error::new(Kind::Missing, what).help("name two folders such as `dir/checkpoint_3`"))
    };
    diff_views(&*complete(first)?, &*complete(second)?)
}

pub(super) fn diff_views(first: &dyn View, second: &dyn View) -> Result<Vec<(Name, Difference)>> {
    let (a, b) = (read_all(first)?, read_all(second)?);
    let only_second = b.keys().filter(|name| !a.contains_key(*name)).map(|n| (n.clone(), Difference::OnlySecond));
    let mut found: Vec<(Name, Difference)> = only_second.collect();
    for (name, x) in &a {
        let difference = b.get(name).map_or(Some(Difference::OnlyFirst), |y| diff_values(x, y));
        found.extend(difference.map(|d| (name.clone(), d)));
    }
    found.sort_by(|x, y| x.0.cmp(&y.0));
    Ok(found)
}

fn read_all(view: &dyn View) -> Result<BTreeMap<Name, Value>> {
    let vars = variables(view)?;
    let of = |dense: bool| vars.iter().filter(|v| (v.kind == VarKind::Tensor) == dense).collect::<Vec<&Var>>();
    let mut all = read_vars(view, Some(PARAMS), &of(true))?;
    all.extend(read_vars(view, None, &of(false))?);
    Ok(all.into_iter().collect())
}

fn diff_values(a: &Value, b: &Value) -> Option<Difference> {
    let (x, y) = (tensor(a)?, tensor(b)?);
    let rows = |v: &Value| v.rows().map(|r| (r.rows.clone(), r.height)).ok();
    let text = |t: &Tensor| format!("{}{}", t.dtype(), t.dims());
    if text(x) != text(y) {
        return Some(Difference::Type(text(x), text(y)));
    }
    if rows(a) != rows(b) {
        return Some(Difference::Type("other rows".into(), "other rows".into()));
    }
    if x.bytes() == y.bytes() {
        return None;
    }
    let size = x.dtype().size();
    let differs = x.bytes().chunks(size).zip(y.bytes().chunks(size)).filter(|(a, b)| a != b);
    let count = differs.count();
    let largest = x.to_f64().iter().zip(y.to_f64()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    Some(Difference::Values { count, largest })
}

fn tensor(value: &Value) -> Option<&Tensor> {
    match value {
        Value::Dense(t) => Some(t),
        Value::Rows(r) => Some(&r.value),
        _ => None,
    }
}
