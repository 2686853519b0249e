//! Cutting tensors with LoD into sequences, and putting sequences together.
//!
//! Rows are moved as bytes, so this knows no element types.

use std::ops::Range;

use oarlock_tensor::{DType, Dims, Lod, Tensor};

/// A list of sequences that will become one tensor: rows one after the other, with the LoD they have inside.
#[derive(Default)]
pub(crate) struct Pieces {
    list: Vec<(usize, Range<usize>)>,
    rows: usize,
    offsets: Vec<Vec<usize>>,
}

impl Pieces {
    /// Starts anew.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.rows = 0;
        self.offsets.clear();
    }

    /// Adds sequence `index` of a level of `tensor`, which will be source number `source`; below the last level, a row.
    /// Says what is wrong if there is no such sequence.
    pub(crate) fn add(&mut self, source: usize, tensor: &Tensor, level: usize, index: usize) -> Result<(), String> {
        let levels = tensor.lod().levels().get(level..).unwrap_or(&[]);
        if self.list.is_empty() {
            self.offsets.resize(levels.len(), vec![0]);
        } else if self.offsets.len() != levels.len() {
            return Err(format!(
                "has {} LoD levels from level {level} on, others {}",
                levels.len(),
                self.offsets.len()
            ));
        }
        let mut range = index..index + 1;
        for (offsets, grown) in levels.iter().zip(&mut self.offsets) {
            let Some(cut) = offsets.get(range.start..=range.end) else {
                return Err(format!("has {} sequences, but number {index} is needed", offsets.len().saturating_sub(1)));
            };
            let base = grown[grown.len() - 1];
            grown.extend(cut[1..].iter().map(|end| base + end - cut[0]));
            range = cut[0]..cut[cut.len() - 1];
        }
        if range.end > tensor.rows() {
            return Err(format!("has {} rows, but row {} is needed", tensor.rows(), range.end - 1));
        }
        self.rows += range.len();
        self.list.push((source, range));
        Ok(())
    }

    /// Puts the pieces together. All sources have rows of `dims` beyond the first size; `outer` are LoD levels around the pieces.
    pub(crate) fn put_together(
        &self,
        sources: &[&Tensor],
        dtype: DType,
        dims: Dims,
        outer: &[Vec<usize>],
        out: &mut Tensor,
    ) {
        out.resize(dtype, dims.with_rows(self.rows));
        let width = row_bytes(dtype, &dims);
        let mut rest = out.bytes_mut();
        for (source, range) in &self.list {
            let (piece, behind) = rest.split_at_mut(range.len() * width);
            piece.copy_from_slice(&sources[*source].bytes()[range.start * width..range.end * width]);
            rest = behind;
        }
        let levels: Vec<Vec<usize>> = outer.iter().chain(&self.offsets).cloned().collect();
        out.set_lod(Lod::new(levels));
    }
}

/// The bytes of one row.
pub(crate) fn row_bytes(dtype: DType, dims: &Dims) -> usize {
    dims.iter().skip(1).product::<usize>() * dtype.size()
}

#[test]
fn pieces_keep_the_lod_inside() {
    let mut x = Tensor::from_slice([5], &[1.0f32, 2.0, 3.0, 4.0, 5.0]).expect("five elements");
    x.set_lod(Lod::new(vec![vec![0, 1, 3], vec![0, 2, 2, 5]]));
    let mut pieces = Pieces::default();
    pieces.add(0, &x, 0, 1).expect("the second sequence");
    pieces.add(0, &x, 0, 0).expect("the first");
    let mut out = Tensor::new();
    pieces.put_together(&[&x], x.dtype(), *x.dims(), &[], &mut out);
    assert_eq!(out.to_f64(), [3.0, 4.0, 5.0, 1.0, 2.0]);
    assert_eq!(out.lod(), &Lod::new(vec![vec![0, 2, 3], vec![0, 0, 3, 5]]));
    assert_eq!(pieces.add(0, &x, 0, 2).expect_err("no third"), "has 2 sequences, but number 2 is needed");
    assert_eq!(pieces.add(0, &x, 1, 0).expect_err("other levels"), "has 1 LoD levels from level 1 on, others 2");
    assert_eq!(pieces.add(0, &x, 2, 7).expect_err("no row"), "has 0 LoD levels from level 2 on, others 2");
}
