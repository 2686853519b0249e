//! `distribute_fpn_proposals`: regions to the levels of a feature pyramid that fit their sizes.

use oarlock_ir::{
    AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, by_float, fail, kernel,
    sig,
};
use oarlock_ops_support::lod_rows::{self, lod_of};
use oarlock_tensor::{DType, Dims, Float, Lod};

use crate::geometry::{Box4, area};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&DistributeFpnProposals];

struct DistributeFpnProposals;

impl OpDef for DistributeFpnProposals {
    sig! {
        "distribute_fpn_proposals": "MultiFpnRois[l] = the regions of level min_level + l: refer_level plus the binary logarithm of the root of their area \
             over refer_scale, rounded down; RestoreIndex = where each region is in all levels one after the other";
        in "FpnRois": "[n, 4], f32 or f64, with a sequence per image: left, top, right and bottom in pixels";
        out* "MultiFpnRois": "[regions, 4], one per level, each with a sequence per image";
        out "RestoreIndex": "[n, 1], i32";
        attr "min_level": "the level of the smallest regions";
        attr "max_level": "the level of the largest regions";
        attr "refer_level": "the level of regions of size refer_scale";
        attr "refer_scale": "the root of the area of regions of refer_level, in pixels";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let levels = Levels::new(&cx.attrs())?;
        let rois = sizes::boxes(cx, "FpnRois")?;
        levels.check(cx.op().outputs.get("MultiFpnRois").len())?;
        for level in 0..levels.count() {
            let ty = VarType::tensor(rois.dtype, vec![Dim::Any, Dim::Is(4)]);
            cx.set_nth("MultiFpnRois", level, ty.with_lod(rois.lod_level.max(1)));
        }
        cx.set("RestoreIndex", VarType::tensor(DType::I32, vec![rois.shape[0], Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let levels = Levels::new(&p.attrs())?;
        let (rois, outs, restore) = (p.input("FpnRois")?, p.outputs("MultiFpnRois")?, p.maybe_output("RestoreIndex")?);
        levels.check(outs.len())?;
        by_float!(p.float("FpnRois")?, T => kernel(move |io| levels.run::<T>(io, rois, &outs, restore)))
    }
}

#[derive(Clone, Copy)]
struct Levels {
    min: i64,
    max: i64,
    refer: i64,
    scale: i64,
}

impl Levels {
    fn new(attrs: &AttrView<'_>) -> Result<Levels> {
        let (min, max) = (attrs.int("min_level")?, attrs.int("max_level")?);
        let (refer, scale) = (attrs.int("refer_level")?, attrs.int("refer_scale")?);
        // More levels than this have no pixels.
        if min > max || max - min > 64 || scale <= 0 {
            fail!(
                Kind::Argument,
                "`distribute_fpn_proposals` needs `min_level` ({min}) up to `max_level` ({max}), and `refer_scale` ({scale}) above 0"
            )
        }
        Ok(Levels { min, max, refer, scale })
    }

    fn count(&self) -> usize {
        (self.max - self.min + 1) as usize
    }

    fn check(&self, outputs: usize) -> Result<()> {
        if outputs == self.count() {
            return Ok(());
        }
        let levels = self.count();
        fail!(
            Kind::Argument,
            "`distribute_fpn_proposals` has {outputs} variables in `MultiFpnRois`, but {levels} levels"
        )
    }

    /// The level of a region, counted from the first.
    fn of<T: Float>(&self, b: &Box4<T>) -> usize {
        let size = area(b, false).sqrt() / T::of(self.scale as f64) + T::of(1e-6);
        let level = (size.f64().log2() + self.refer as f64).floor();
        // Of NaN it is the first.
        (level.clamp(self.min as f64, self.max as f64) as i64 - self.min).clamp(0, self.max - self.min) as usize
    }

    fn run<T: Float>(&self, io: &Io<'_>, rois: In, outs: &[Option<Out>], restore: Option<Out>) -> Result<()> {
        let tensor = io.dense(rois)?;
        let boxes = sizes::boxes_of::<T>(io, rois, &tensor)?;
        let offsets = lod_rows::offsets(io, rois, &tensor)?;
        let levels: Vec<usize> = boxes.iter().map(|b| self.of(b)).collect();
        let mut order = Vec::with_capacity(boxes.len());
        for (level, out) in outs.iter().enumerate() {
            let start = order.len();
            order.extend((0..boxes.len()).filter(|i| levels[*i] == level));
            let Some(out) = out else { continue };
            let chosen = &order[start..];
            let lengths = offsets.windows(2).map(|rows| (rows[0]..rows[1]).filter(|i| levels[*i] == level).count());
            let mut t = io.out_sized(*out, T::DTYPE, Dims::from([chosen.len(), 4]))?;
            t.set_lod(lod_of(&Lod::NONE, lengths));
            let to = io.data_mut::<T>(*out, &mut t)?.as_chunks_mut::<4>().0;
            to.iter_mut().zip(chosen).for_each(|(to, &i)| *to = boxes[i]);
        }
        let Some(restore) = restore else { return Ok(()) };
        let mut t = io.out_sized(restore, DType::I32, Dims::from([boxes.len(), 1]))?;
        let to = io.data_mut::<i32>(restore, &mut t)?;
        order.iter().enumerate().for_each(|(place, &i)| to[i] = place as i32);
        Ok(())
    }
}

#[test]
fn large_regions_go_to_high_levels() {
    use oarlock_tensor::Value;

    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};
    let large = [0.0, 0.0, 223.0, 223.0];
    let small = [0.0, 0.0, 10.0, 10.0];
    let case = || -> Check {
        check("distribute_fpn_proposals")
            .input("FpnRois", with_lod(tensor([2, 4], &[large, small].concat()), &[&[0, 1, 1, 2]]))
            .attr("min_level", 3)
            .attr("max_level", 4)
            .attr("refer_level", 4)
            .attr("refer_scale", 224)
    };
    let level = |values: &[f32], lod: &[usize]| Value::Dense(with_lod(tensor([1, 4], values), &[lod]));
    case()
        .outputs("MultiFpnRois", vec![level(&small, &[0, 0, 0, 1]), level(&large, &[0, 1, 1, 1])])
        .output("RestoreIndex", tensor_of([2, 1], &[1, 0]))
        .run();
    let e = case().any_output("MultiFpnRois").any_output("RestoreIndex").error();
    assert!(e.contains("has 1 variables in `MultiFpnRois`, but 2 levels"), "{e}");
    let outs =
        |case: Check| case.outputs("MultiFpnRois", vec![Value::Empty, Value::Empty]).any_output("RestoreIndex").error();
    assert!(outs(case().input("FpnRois", noise([2, 4], 1))).contains("input `FpnRois` = `FpnRois.0` has no LoD"));
}
