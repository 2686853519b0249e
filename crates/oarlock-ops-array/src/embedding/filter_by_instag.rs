//! `filter_by_instag`: keeps the instances that carry one of some tags.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarKind, VarType};
use oarlock_ir::{by_float, kernel};
use oarlock_ir::{sig, slots};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Dims, Element, Float, Lod, Tensor, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&FilterByInstag, &FILTER_BY_INSTAG_GRAD];

struct FilterByInstag;

impl OpDef for FilterByInstag {
    sig! {
        "filter_by_instag":
            "Out holds the instances of Ins of which one of the tags is in Filter_tag. If there is none, Out is one row of \
             out_val_if_empty with a LossWeight of 0";
        in "Ins": "instances: sequences if is_lod, else rows";
        in "Ins_tag": "i64 tags, a sequence per instance";
        in "Filter_tag": "i64 tags to keep";
        out "Out": "the instances kept, a sequence each";
        out "LossWeight": "1 per instance kept";
        out "IndexMap":
            "i64: for each instance kept its first row in `Out`, its first row in `Ins`, and how many rows it has";
        attr "is_lod": "instances are sequences of `Ins`";
        attr "out_val_if_empty" = 0i64, "what `Out` holds if no instance is kept";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ins = cx.input("Ins")?;
        let shape = lod_rows::with_rows(ins.shape.clone(), Dim::Any);
        cx.set("Out", ins.with_shape(shape).with_lod(1));
        cx.set("LossWeight", VarType::tensor(DType::F32, vec![Dim::Any, Dim::Is(1)]).with_lod(1));
        cx.set("IndexMap", VarType::tensor(DType::I64, vec![Dim::Any, Dim::Is(3)]).with_lod(1));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let filter = Filter::new(p)?;
        let outs = Outs { out: p.output("Out")?, weight: p.output("LossWeight")?, map: p.output("IndexMap")? };
        let empty = p.attrs().int("out_val_if_empty")?;
        let mut kept = Vec::new();
        by_element!(p.dtype("Ins")?, T => kernel(move |io| {
            filter.keep(io, &mut kept)?;
            if kept.is_empty() { outs.write_none(io, filter.ins, T::from_i64(empty)) } else { outs.write(io, filter.ins, &kept) }
        }))
    }
}

slots! {
    struct Filter(p) {
        ins: input "Ins",
        tags: input "Ins_tag",
        wanted: input "Filter_tag",
        is_lod: bool "is_lod",
    }
}

impl Filter {
    /// The rows of each instance that is kept.
    fn keep(&self, io: &Io<'_>, kept: &mut Vec<(usize, usize)>) -> Result<()> {
        let (ins, tags, wanted) = (io.dense(self.ins)?, io.dense(self.tags)?, io.dense(self.wanted)?);
        let groups = lod_rows::offsets(io, self.tags, &tags)?;
        let (tags, wanted) = (io.data::<i64>(self.tags, &tags)?, io.data::<i64>(self.wanted, &wanted)?);
        let rows = if self.is_lod { Some(lod_rows::offsets(io, self.ins, &ins)?) } else { None };
        // Rows that have no tags, as when one tag list is given for several rows, are not instances.
        let count = rows.map_or(ins.rows(), |r| r.len() - 1);
        if groups.len() - 1 > count || (self.is_lod && groups.len() - 1 != count) {
            let what = format!("has tags of {} instances, but {} has {count}", groups.len() - 1, io.describe(self.ins));
            return Err(io.error(Kind::Lod, self.tags, what));
        }
        kept.clear();
        for (i, w) in groups.windows(2).enumerate() {
            if tags[w[0]..w[1]].iter().any(|t| wanted.contains(t)) {
                kept.push(rows.map_or((i, i + 1), |r| (r[i], r[i + 1])));
            }
        }
        Ok(())
    }
}

struct Outs {
    out: Out,
    weight: Out,
    map: Out,
}

impl Outs {
    fn write(&self, io: &Io<'_>, ins: In, kept: &[(usize, usize)]) -> Result<()> {
        let from = io.dense(ins)?;
        let rows = kept.iter().map(|(a, b)| b - a).sum();
        let mut to = io.out_sized(self.out, from.dtype(), from.dims().with_rows(rows))?;
        to.set_lod(lod_rows::lod_of(&Lod::NONE, kept.iter().map(|(a, b)| b - a)));
        let bytes = from.dims().matrix(1).1 * from.dtype().size();
        let mut map = self.per_instance::<i64>(io, self.map, kept.len(), 3)?;
        let map = io.data_mut::<i64>(self.map, &mut map)?;
        let mut row = 0;
        for ((a, b), map) in kept.iter().zip(map.chunks_exact_mut(3)) {
            to.bytes_mut()[row * bytes..][..(b - a) * bytes].copy_from_slice(&from.bytes()[a * bytes..b * bytes]);
            map.copy_from_slice(&[row as i64, *a as i64, (b - a) as i64]);
            row += b - a;
        }
        let mut weight = self.per_instance::<f32>(io, self.weight, kept.len(), 1)?;
        io.data_mut::<f32>(self.weight, &mut weight)?.fill(1.0);
        Ok(())
    }

    fn write_none<T: Element>(&self, io: &Io<'_>, ins: In, value: T) -> Result<()> {
        let dims = io.dense(ins)?.dims().with_rows(1);
        let mut to = io.out_sized(self.out, T::DTYPE, dims)?;
        to.set_lod(Lod::new(vec![vec![0, 1]]));
        io.data_mut::<T>(self.out, &mut to)?.fill(value);
        let mut map = self.per_instance::<i64>(io, self.map, 1, 3)?;
        io.data_mut::<i64>(self.map, &mut map)?.copy_from_slice(&[0, 1, 1]);
        let mut weight = self.per_instance::<f32>(io, self.weight, 1, 1)?;
        io.data_mut::<f32>(self.weight, &mut weight)?[0] = 0.0;
        Ok(())
    }

    /// An output of a row per instance, each a sequence of its own.
    fn per_instance<'a, T: Element>(
        &self,
        io: &Io<'a>,
        out: Out,
        rows: usize,
        width: usize,
    ) -> Result<std::cell::RefMut<'a, Tensor>> {
        let mut t = io.out_sized(out, T::DTYPE, Dims::from([rows, width]))?;
        t.set_lod(Lod::new(vec![(0..=rows).collect()]));
        Ok(t)
    }
}

const FILTER_BY_INSTAG_GRAD: GradOp =
    GradOp::of(&FilterByInstag, "filter_by_instag_grad(IndexMap, Ins, LossWeight, Out@GRAD) -> Ins@GRAD")
        .doc("Ins@GRAD is Out@GRAD at the instances that were kept, zero elsewhere")
        .traits(Traits::NONE.shape_only(&["Ins"]))
        .infer(|cx| {
            let ins = cx.input("Ins")?;
            cx.set("Ins@GRAD", ins.with_kind(VarKind::Tensor));
            Ok(())
        })
        .kernel(|p| {
            let grad = FilterGrad::new(p)?;
            by_float!(p.float("Ins")?, T => kernel(move |io| grad.run::<T>(io)))
        });

slots! {
    struct FilterGrad(p) {
        ins: input "Ins",
        map: input "IndexMap",
        weight: input "LossWeight",
        dout: input "Out@GRAD",
        dins: output "Ins@GRAD",
    }
}

impl FilterGrad {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (like, from, map) = (io.dense(self.ins)?, io.dense(self.dout)?, io.dense(self.map)?);
        let width = like.dims().matrix(1).1;
        let mut to = io.out_sized(self.dins, T::DTYPE, *like.dims())?;
        to.set_lod(like.lod().clone());
        let to = io.data_mut::<T>(self.dins, &mut to)?;
        to.fill(T::ZERO);
        if io.scalar(self.weight)? == 0.0 {
            return Ok(());
        }
        let from = io.data::<T>(self.dout, &from)?;
        for entry in io.data::<i64>(self.map, &map)?.chunks_exact(3) {
            let [a, b, rows] = [entry[0], entry[1], entry[2]].map(|v| usize::try_from(v).unwrap_or(usize::MAX));
            let piece = |start: usize| {
                let end = start.checked_add(rows)?.checked_mul(width)?;
                Some(start.checked_mul(width)?..end)
            };
            let pieces = piece(a).and_then(|r| from.get(r)).zip(piece(b).and_then(|r| to.get_mut(r)));
            let Some((from, to)) = pieces else {
                return Err(io.error(Kind::Range, self.map, format!("names rows that are not there: {entry:?}")));
            };
            to.copy_from_slice(from);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn filter(tag: i64) -> Check {
        check("filter_by_instag")
            .input("Ins", with_lod(tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 1, 2, 4]]))
            .input("Ins_tag", with_lod(tensor_of([4, 1], &[1i64, 2, 3, 1]), &[&[0, 1, 2, 4]]))
            .input("Filter_tag", tensor_of([1], &[tag]))
            .attr("is_lod", true)
            .attr("out_val_if_empty", 7i64)
    }

    #[test]
    fn instances_with_a_tag_are_kept() {
        filter(1)
            .output("Out", with_lod(tensor([3, 1], &[1.0, 3.0, 4.0]), &[&[0, 1, 3]]))
            .output("LossWeight", with_lod(tensor([2, 1], &[1.0, 1.0]), &[&[0, 1, 2]]))
            .output("IndexMap", with_lod(tensor_of([2, 3], &[0i64, 0, 1, 1, 2, 2]), &[&[0, 1, 2]]))
            .grad(&["Ins"])
            .run();
    }

    #[test]
    fn one_row_stands_for_none() {
        filter(9)
            .output("Out", with_lod(tensor([1, 1], &[7.0]), &[&[0, 1]]))
            .output("LossWeight", with_lod(tensor([1, 1], &[0.0]), &[&[0, 1]]))
            .output("IndexMap", with_lod(tensor_of([1, 3], &[0i64, 1, 1]), &[&[0, 1]]))
            .grad(&["Ins"])
            .run();
    }

    #[test]
    fn rows_can_be_instances() {
        check("filter_by_instag")
            .input("Ins", tensor([2, 1], &[1.0, 2.0]))
            .input("Ins_tag", with_lod(tensor_of([3, 1], &[5i64, 1, 2]), &[&[0, 1, 3]]))
            .input("Filter_tag", tensor_of([2], &[2i64, 8]))
            .attr("is_lod", false)
            .output("Out", with_lod(tensor([1, 1], &[2.0]), &[&[0, 1]]))
            .any_output("LossWeight")
            .any_output("IndexMap")
            .run();
    }
}
