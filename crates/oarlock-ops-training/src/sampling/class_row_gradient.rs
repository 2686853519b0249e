//! Gradients of losses that score an example by the rows of some classes: noise-contrastive estimation, hierarchical softmax.

use oarlock_ir::{In, Io, Out, Result};
use oarlock_tensor::{Dims, Float, SelectedRows, simd};

/// The derivative of a loss by the score of each example and class; score = input . weight[class] + bias[class].
pub(crate) struct RowGrad<'a, T> {
    /// The class of each score, `columns` per example; -1 where there is none.
    pub(crate) classes: &'a [i64],
    pub(crate) columns: usize,
    /// The derivative by each score.
    pub(crate) d: &'a [T],
    /// Columns of the weight.
    pub(crate) width: usize,
    /// Rows of the weight.
    pub(crate) height: usize,
}

impl<T: Float> RowGrad<'_, T> {
    /// Every score: its example, its class, its derivative.
    fn each(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        let scores = self.classes.iter().zip(self.d).enumerate();
        scores.filter_map(|(at, (&class, &d))| Some((at / self.columns, usize::try_from(class).ok()?, d)))
    }

    /// Writes the gradient of the bias, which has the sizes of the input `bias`.
    pub(crate) fn bias(&self, io: &Io<'_>, out: Option<Out>, bias: Option<In>) -> Result<()> {
        let (Some(out), Some(bias)) = (out, bias) else { return Ok(()) };
        let dims = *io.dense(bias)?.dims();
        let mut t = io.out_sized(out, T::DTYPE, dims)?;
        let to = io.data_mut::<T>(out, &mut t)?;
        to.fill(T::ZERO);
        self.each().for_each(|(_, class, d)| to[class] += d);
        Ok(())
    }

    /// Writes the gradient of the input, which has the sizes of `input`.
    pub(crate) fn input(&self, io: &Io<'_>, out: Option<Out>, input: In, weight: &[T]) -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        let like = io.dense(input)?;
        let mut t = io.out_sized(out, T::DTYPE, *like.dims())?;
        t.set_lod(like.lod().clone());
        let to = io.data_mut::<T>(out, &mut t)?;
        to.fill(T::ZERO);
        for (example, class, d) in self.each() {
            simd::axpy(&mut to[example * self.width..][..self.width], d, &weight[class * self.width..][..self.width]);
        }
        Ok(())
    }

    /// Writes the gradient of the weight, whole or only the rows of classes that occur.
    pub(crate) fn weight(&self, io: &Io<'_>, out: Option<Out>, input: &[T], sparse: bool) -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        if !sparse {
            let mut t = io.out_sized(out, T::DTYPE, Dims::from([self.height, self.width]))?;
            let to = io.data_mut::<T>(out, &mut t)?;
            self.add_rows(to, input, |class| class);
            return Ok(());
        }
        let mut value = io.write(out)?;
        let SelectedRows { rows, height, value } = value.rows_mut();
        rows.clear();
        rows.extend(self.classes.iter().filter(|c| **c >= 0));
        rows.sort_unstable();
        rows.dedup();
        *height = self.height as i64;
        value.resize(T::DTYPE, Dims::from([rows.len(), self.width]));
        let to = io.data_mut::<T>(out, value)?;
        self.add_rows(to, input, |class| rows.partition_point(|&row| row < class as i64));
        Ok(())
    }

    fn add_rows(&self, to: &mut [T], input: &[T], place: impl Fn(usize) -> usize) {
        to.fill(T::ZERO);
        for (example, class, d) in self.each() {
            let to = &mut to[place(class) * self.width..][..self.width];
            simd::axpy(to, d, &input[example * self.width..][..self.width]);
        }
    }
}
