//! The scores of a tagging, and how they are checked; shared by operators on linear-chain conditional random fields.
//!
//! `Transition` has the scores of starting with a tag in row 0, of ending with it in row 1, and of tag j after tag i at [i + 2, j].

use oarlock_ir::{Dim, In, Infer, Io, Kind, Result, VarType};
use oarlock_tensor::{Float, Tensor};

/// Checks `Emission` and `Transition` when the program is built; returns the type of `Emission`.
pub(crate) fn infer_emission(cx: &Infer<'_>) -> Result<VarType> {
    let (emission, transition) = (cx.float("Emission")?, cx.float("Transition")?);
    let (rank, form) = if cx.has("Length") { (3, "[batch, steps, tags]") } else { (2, "[rows, tags]") };
    if emission.shape.rank() != rank {
        return Err(cx.shape_error(format_args!("needs scores {form}, but has {}", cx.describe("Emission"))));
    }
    let tags = emission.shape[rank - 1];
    let rows = tags.known().map_or(Dim::Any, |n| Dim::Is(n + 2));
    let fits = transition.shape.rank() == 2 && transition.shape[0].fits(rows) && transition.shape[1].fits(tags);
    if fits {
        return Ok(emission);
    }
    let what = format!("cannot use {} with {}", cx.describe("Transition"), cx.describe("Emission"));
    Err(cx.shape_error(what).help("transitions have shape [tags + 2, tags]: starts, ends, and one row per tag before"))
}

/// The scores of tags while the program runs.
#[derive(Clone, Copy)]
pub(crate) struct Scores<'a, T> {
    /// One row of scores per step, `tags` wide.
    pub(crate) emission: &'a [T],
    /// See the module.
    pub(crate) transition: &'a [T],
    pub(crate) tags: usize,
}

impl<'a, T: Float> Scores<'a, T> {
    /// Of these inputs, checked.
    pub(crate) fn new(io: &Io<'_>, emission: (In, &'a Tensor), transition: (In, &'a Tensor)) -> Result<Scores<'a, T>> {
        let tags = emission.1.dims().last().copied().unwrap_or(0);
        if tags == 0 {
            return Err(io.error(Kind::Shape, emission.0, "has no tags"));
        }
        if transition.1.dims()[..] != [tags + 2, tags] {
            let what = format!("is {}, but {tags} tags need [{}, {tags}]", transition.1.dims(), tags + 2);
            return Err(io.error(Kind::Shape, transition.0, what));
        }
        Ok(Scores {
            emission: io.data(emission.0, emission.1)?,
            transition: io.data(transition.0, transition.1)?,
            tags,
        })
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.emission.len() / self.tags
    }

    /// The emission scores of a row.
    pub(crate) fn row(&self, row: usize) -> &'a [T] {
        &self.emission[row * self.tags..][..self.tags]
    }

    /// The score of tag `to` after tag `from`.
    pub(crate) fn step(&self, from: usize, to: usize) -> T {
        self.transition[(from + 2) * self.tags + to]
    }
}

/// The tags of all rows, checked.
pub(crate) fn labels<'t>(io: &Io<'_>, label: In, t: &'t Tensor, rows: usize, tags: usize) -> Result<&'t [i64]> {
    let labels = io.data::<i64>(label, t)?;
    if labels.len() != rows {
        return Err(io.error(Kind::Shape, label, format!("has {} labels for {rows} rows", labels.len())));
    }
    match labels.iter().position(|l| !(0..tags as i64).contains(l)) {
        Some(at) => {
            let what = format!("has label {} in row {at}, but there are {tags} tags", labels[at]);
            Err(io.error(Kind::Range, label, what))
        }
        None => Ok(labels),
    }
}
