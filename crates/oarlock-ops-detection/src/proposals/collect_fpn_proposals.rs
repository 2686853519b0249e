//! `collect_fpn_proposals`: the best regions of all levels of a feature pyramid.

use oarlock_ir::{
    Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, by_float, fail, kernel, sig,
};
use oarlock_ops_support::lod_rows::{self, lod_of};
use oarlock_tensor::{Dims, Float, Lod};

use crate::geometry::Box4;
use crate::sizes;
use crate::suppression::descending;

pub(crate) const OPS: &[&dyn OpDef] = &[&CollectFpnProposals];

struct CollectFpnProposals;

impl OpDef for CollectFpnProposals {
    sig! {
        "collect_fpn_proposals": "FpnRois = the post_nms_topN regions with the highest scores of all levels and images, sorted by image, then by score";
        in* "MultiLevelRois": "[regions, 4], f32 or f64, one per level, each with a sequence per image";
        in* "MultiLevelScores": "[regions, 1], one per level, divided alike";
        out "FpnRois": "[n, 4], with a sequence per image";
        attr "post_nms_topN": "how many regions of a batch stay";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.attrs().count("post_nms_topN")?;
        let (rois, scores) = (cx.inputs("MultiLevelRois")?, cx.inputs("MultiLevelScores")?);
        let [first, ..] = &rois[..] else { return Err(cx.shape_error("needs regions of one level or more")) };
        if rois.len() != scores.len() {
            let what = format_args!("has regions of {} levels, but scores of {}", rois.len(), scores.len());
            return Err(cx.shape_error(what));
        }
        for (slot, types, width) in [("MultiLevelRois", &rois, 4), ("MultiLevelScores", &scores, 1)] {
            let what = format!("[regions, {width}] of each level");
            types.iter().try_for_each(|ty| sizes::expect(cx, slot, ty, &[None, Some(width)], &what))?;
        }
        cx.set("FpnRois", VarType::tensor(first.dtype, vec![Dim::Any, Dim::Is(4)]).with_lod(1));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (rois, scores) = (p.inputs("MultiLevelRois")?, p.inputs("MultiLevelScores")?);
        if rois.len() != scores.len() {
            fail!(
                Kind::Argument,
                "`collect_fpn_proposals` has regions of {} levels, but scores of {}",
                rois.len(),
                scores.len()
            )
        }
        let levels: Vec<(In, In)> = rois.into_iter().zip(scores).collect();
        let (out, top) = (p.output("FpnRois")?, p.attrs().count("post_nms_topN")?);
        by_float!(p.float("MultiLevelRois")?, T => kernel(move |io| run::<T>(io, &levels, out, top)))
    }
}

/// A region with its image and score.
type Scored<T> = (usize, T, Box4<T>);

fn run<T: Float>(io: &Io<'_>, levels: &[(In, In)], out: Out, top: usize) -> Result<()> {
    let mut all: Vec<Scored<T>> = Vec::new();
    let mut images = None;
    for &(rois, scores) in levels {
        let (roi_tensor, score_tensor) = (io.dense(rois)?, io.dense(scores)?);
        let boxes = sizes::boxes_of::<T>(io, rois, &roi_tensor)?;
        let scores = sizes::counted::<T>(io, scores, &score_tensor, boxes.len())?;
        let offsets = lod_rows::offsets(io, rois, &roi_tensor)?;
        let count = *images.get_or_insert(offsets.len() - 1);
        if offsets.len() != count + 1 {
            let what = format_args!("has {} images, but the first level has {count}", offsets.len() - 1);
            return Err(io.error(Kind::Lod, rois, what));
        }
        for (image, rows) in offsets.windows(2).enumerate() {
            all.extend((rows[0]..rows[1]).map(|i| (image, scores[i], boxes[i])));
        }
    }
    all.sort_by(|a, b| descending(a.1, b.1));
    all.truncate(top);
    all.sort_by_key(|(image, ..)| *image);
    let lengths = (0..images.unwrap_or(0)).map(|image| all.iter().filter(|one| one.0 == image).count());
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([all.len(), 4]))?;
    t.set_lod(lod_of(&Lod::NONE, lengths));
    let to = io.data_mut::<T>(out, &mut t)?.as_chunks_mut::<4>().0;
    to.iter_mut().zip(&all).for_each(|(to, one)| *to = one.2);
    Ok(())
}

#[test]
fn best_regions_of_all_levels() {
    use crate::testing::{Check, check, noise, tensor, with_lod};
    let rois = |first: f32, n: usize, lod: &[usize]| {
        let values: Vec<f32> = (0..n).flat_map(|i| [first + i as f32; 4]).collect();
        with_lod(tensor([n, 4], &values), &[lod])
    };
    let scores = |values: &[f32], lod: &[usize]| with_lod(tensor([values.len(), 1], values), &[lod]);
    let case = |top: i32| -> Check {
        check("collect_fpn_proposals")
            .inputs("MultiLevelRois", vec![rois(0.0, 3, &[0, 1, 3]), rois(10.0, 1, &[0, 0, 1])])
            .inputs("MultiLevelScores", vec![scores(&[0.2, 0.5, 0.1], &[0, 1, 3]), scores(&[0.9], &[0, 0, 1])])
            .attr("post_nms_topN", top)
    };
    let out = |values: &[f32], lod: &[usize]| {
        let values: Vec<f32> = values.iter().flat_map(|v| [*v; 4]).collect();
        with_lod(tensor([values.len() / 4, 4], &values), &[lod])
    };
    case(3).output("FpnRois", out(&[0.0, 10.0, 1.0], &[0, 1, 3])).run();
    // An image of which no region stays is there all the same.
    case(2).output("FpnRois", out(&[10.0, 1.0], &[0, 0, 2])).run();
    let e = case(3).inputs("MultiLevelScores", vec![noise([3, 1], 1)]).any_output("FpnRois").error();
    assert!(e.contains("has regions of 2 levels, but scores of 1"), "{e}");
}
