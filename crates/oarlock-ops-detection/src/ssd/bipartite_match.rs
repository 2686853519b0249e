//! `bipartite_match`: pairs of rows and columns that go together best.

use oarlock_ir::{
    AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, by_float, fail, kernel,
    sig,
};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Dims, Float};

use crate::sizes;
use crate::suppression::descending;

pub(crate) const OPS: &[&dyn OpDef] = &[&BipartiteMatch];

struct BipartiteMatch;

impl OpDef for BipartiteMatch {
    sig! {
        "bipartite_match":
            "ColToRowMatchIndices[i, j] = the row of image i to which column j belongs, -1 for none: the largest value of the \
             matrix pairs its row and column, then the largest of the rest, until no row or no positive value is left";
        in "DistMat": "[rows, columns], f32 or f64: how well rows and columns go together; a sequence of rows per image";
        out "ColToRowMatchIndices": "[images, columns], i32: rows counted from the first of the image";
        out "ColToRowMatchDist": "[images, columns]: the value of each pair, 0 for none";
        attr "match_type" = "bipartite", "bipartite, or per_prediction: columns left over take their best row";
        attr "dist_threshold" = 0.5f32, "per_prediction: the least value of such a pair";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        extra_threshold(&cx.attrs())?;
        let dist = sizes::float(cx, "DistMat", &[None, None], "[rows, columns]")?;
        let ty = VarType::tensor(dist.dtype, vec![Dim::Any, dist.shape[1]]);
        cx.set("ColToRowMatchIndices", ty.clone().with_dtype(DType::I32));
        cx.set("ColToRowMatchDist", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (dist, outs) = (p.input("DistMat")?, (p.output("ColToRowMatchIndices")?, p.output("ColToRowMatchDist")?));
        let extra = extra_threshold(&p.attrs())?;
        by_float!(p.float("DistMat")?, T => kernel(move |io| run::<T>(io, dist, outs, extra)))
    }
}

/// The least value by which columns left over take a row; `None` if they take none.
fn extra_threshold(attrs: &AttrView<'_>) -> Result<Option<f32>> {
    match attrs.str("match_type")? {
        "bipartite" => Ok(None),
        "per_prediction" => Ok(Some(attrs.f32("dist_threshold")?)),
        other => fail!(
            Kind::Argument,
            "attribute `match_type` of `bipartite_match` is `{other}`; it can be bipartite or per_prediction"
        ),
    }
}

fn run<T: Float>(io: &Io<'_>, dist: In, (indices, values): (Out, Out), extra: Option<f32>) -> Result<()> {
    let tensor = io.dense(dist)?;
    let [rows, columns] = sizes::dims(io, dist, &tensor, "[rows, columns]")?;
    if tensor.lod().len() > 1 {
        return Err(io.error(
            Kind::Lod,
            dist,
            "has more than one level of LoD; one sequence of rows per image is needed",
        ));
    }
    let whole = [0, rows];
    let offsets = if tensor.lod().is_empty() { &whole } else { lod_rows::offsets(io, dist, &tensor)? };
    let data = io.data::<T>(dist, &tensor)?;
    let dims = Dims::from([offsets.len() - 1, columns]);
    let mut index_tensor = io.out_sized(indices, DType::I32, dims)?;
    let mut value_tensor = io.out_sized(values, T::DTYPE, dims)?;
    let indices = io.data_mut::<i32>(indices, &mut index_tensor)?;
    let values = io.data_mut::<T>(values, &mut value_tensor)?;
    indices.fill(-1);
    values.fill(T::ZERO);
    let width = columns.max(1);
    let outs = indices.chunks_exact_mut(width).zip(values.chunks_exact_mut(width));
    io.pool().each(offsets.len() - 1, offsets.windows(2).zip(outs), |(rows, (indices, values))| {
        let mut image = Image { dist: &data[rows[0] * columns..rows[1] * columns], columns, indices, values };
        image.pair();
        if let Some(least) = extra {
            image.take_best(T::of(least.into()));
        }
    });
    Ok(())
}

/// Values up to this pair nothing.
const LEAST: f64 = 1e-6;

/// From as many rows on, Fluid sorts all pairs and takes any positive value.
const MANY_ROWS: usize = 130;

struct Image<'a, T> {
    dist: &'a [T],
    columns: usize,
    indices: &'a mut [i32],
    values: &'a mut [T],
}

impl<T: Float> Image<'_, T> {
    fn rows(&self) -> usize {
        self.dist.len() / self.columns.max(1)
    }

    fn set(&mut self, column: usize, row: usize) {
        self.indices[column] = row as i32;
        self.values[column] = self.dist[row * self.columns + column];
    }

    fn pair(&mut self) {
        if self.rows() >= MANY_ROWS {
            return self.pair_sorted();
        }
        let mut free = vec![true; self.rows()];
        let mut best: Vec<Option<usize>> = (0..self.columns).map(|c| self.best_row(c, &free)).collect();
        // The first of equal columns wins, as its value must be exceeded.
        let value = |of: &Self, c: usize, row: usize| of.dist[row * of.columns + c];
        loop {
            let mut found: Option<(usize, usize)> = None;
            for (c, row) in best.iter().enumerate().filter_map(|(c, row)| Some((c, (*row)?))) {
                if found.is_none_or(|(fc, frow)| value(self, c, row) > value(self, fc, frow)) {
                    found = Some((c, row));
                }
            }
            let Some((column, row)) = found else { return };
            self.set(column, row);
            free[row] = false;
            best[column] = None;
            // Only columns that wanted this row need another one.
            for (c, wanted) in best.iter_mut().enumerate().filter(|(_, wanted)| **wanted == Some(row)) {
                *wanted = self.best_row(c, &free);
            }
        }
    }

    /// The free row with the largest value in a column, the first of equal ones.
    fn best_row(&self, column: usize, free: &[bool]) -> Option<usize> {
        let value = |row: usize| self.dist[row * self.columns + column];
        let usable = |row: &usize| free[*row] && value(*row) >= T::of(LEAST);
        (0..self.rows()).filter(usable).reduce(|a, b| if value(b) > value(a) { b } else { a })
    }

    fn pair_sorted(&mut self) {
        let mut order: Vec<usize> = (0..self.dist.len()).filter(|&i| self.dist[i] > T::ZERO).collect();
        order.sort_by(|&i, &j| descending(self.dist[i], self.dist[j]));
        let mut free = vec![true; self.rows()];
        for at in order {
            let (row, column) = (at / self.columns, at % self.columns);
            if free[row] && self.indices[column] == -1 {
                free[row] = false;
                self.set(column, row);
            }
        }
    }

    /// Columns left over take the row with their largest value, if that is at least `least`.
    fn take_best(&mut self, least: T) {
        let all = vec![true; self.rows()];
        for column in 0..self.columns {
            if self.indices[column] != -1 {
                continue;
            }
            if let Some(row) = self.best_row(column, &all).filter(|row| self.dist[row * self.columns + column] >= least)
            {
                self.set(column, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn case() -> Check {
        let dist = [0.9, 0.8, 0.1, 0.7, 0.6, 0.55, 0.2, 0.3, 0.0];
        check("bipartite_match").input("DistMat", with_lod(tensor([3, 3], &dist), &[&[0, 2, 3]]))
    }

    #[test]
    fn best_pairs_come_first() {
        case()
            .output("ColToRowMatchIndices", tensor_of([2, 3], &[0, 1, -1, -1, 0, -1]))
            .output("ColToRowMatchDist", tensor([2, 3], &[0.9, 0.6, 0.0, 0.0, 0.3, 0.0]))
            .run();
        case()
            .attr("match_type", "per_prediction")
            .output("ColToRowMatchIndices", tensor_of([2, 3], &[0, 1, 1, -1, 0, -1]))
            .output("ColToRowMatchDist", tensor([2, 3], &[0.9, 0.6, 0.55, 0.0, 0.3, 0.0]))
            .run();
    }

    #[test]
    fn image_without_rows_matches_nothing() {
        check("bipartite_match")
            .input("DistMat", with_lod(tensor([1, 2], &[0.3, 0.4]), &[&[0, 0, 1]]))
            .output("ColToRowMatchIndices", tensor_of([2, 2], &[-1, -1, -1, 0]))
            .output("ColToRowMatchDist", tensor([2, 2], &[0.0, 0.0, 0.0, 0.4]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| case.any_output("ColToRowMatchIndices").any_output("ColToRowMatchDist");
        let e = outs(case().attr("match_type", "best")).error();
        assert!(e.contains("attribute `match_type` of `bipartite_match` is `best`"), "{e}");
        let e = outs(case().input("DistMat", noise([2, 2, 2], 1))).error();
        assert!(e.contains("needs [rows, columns] in `DistMat`"), "{e}");
        let e = outs(case().input("DistMat", with_lod(noise([2, 2], 1), &[&[0, 1], &[0, 2]]))).error();
        assert!(e.contains("has more than one level of LoD"), "{e}");
    }
}
