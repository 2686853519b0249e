//! Images of a batch with the boxes that they show, and choosing some candidates of many.

use oarlock_ir::{In, Io, Kind, Result};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::rng::MinStd;
use oarlock_tensor::{Element, Tensor};

/// Rows of an input that has a sequence per image.
pub(crate) struct PerImage<'t, T> {
    data: &'t [T],
    offsets: &'t [usize],
    width: usize,
}

impl<'t, T: Element> PerImage<'t, T> {
    /// Of an input with `width` values in a row; `images` is how many images there must be, if that is known.
    pub(crate) fn new(
        io: &Io<'_>,
        input: In,
        t: &'t Tensor,
        width: usize,
        images: Option<usize>,
    ) -> Result<PerImage<'t, T>> {
        let offsets = lod_rows::offsets(io, input, t)?;
        if images.is_some_and(|images| offsets.len() != images + 1) {
            let (found, images) = (offsets.len() - 1, images.unwrap_or(0));
            return Err(io.error(Kind::Lod, input, format_args!("has {found} images, but there are {images}")));
        }
        oarlock_ops_support::checks::expect_elements(io, input, t.numel(), t.rows() * width)?;
        Ok(PerImage { data: io.data::<T>(input, t)?, offsets, width })
    }

    /// How many images there are.
    pub(crate) fn images(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The rows of an image.
    pub(crate) fn of(&self, image: usize) -> &'t [T] {
        &self.data[self.offsets[image] * self.width..self.offsets[image + 1] * self.width]
    }
}

/// Checks that two inputs have as many rows for every image.
pub(crate) fn expect_same_rows<A: Element, B: Element>(
    io: &Io<'_>,
    (input, rows): (In, &PerImage<'_, A>),
    other: &PerImage<'_, B>,
) -> Result<()> {
    if rows.offsets == other.offsets {
        return Ok(());
    }
    let what = format_args!(
        "divides its rows at {:?}, but the boxes of images are divided at {:?}",
        rows.offsets, other.offsets
    );
    Err(io.error(Kind::Lod, input, what))
}

/// Cuts `chosen` to `count`: by chance if an engine is given, which each call starts anew, else the first.
pub(crate) fn reservoir<C>(chosen: &mut Vec<C>, count: usize, engine: Option<&MinStd>) {
    if let Some(mut engine) = engine.cloned() {
        for i in count..chosen.len() {
            let at = (engine.uniform_f32(0.0, 1.0) * i as f32).floor() as usize;
            if at < count {
                chosen.swap(at, i);
            }
        }
    }
    chosen.truncate(count);
}

#[test]
fn chance_chooses_as_many_as_asked_for() {
    let mut first: Vec<usize> = (0..10).collect();
    reservoir(&mut first, 3, None);
    assert_eq!(first, [0, 1, 2]);
    let mut some: Vec<usize> = (0..100).collect();
    reservoir(&mut some, 3, Some(&MinStd::new(5)));
    assert!(some.len() == 3 && some != [0, 1, 2] && some.iter().all(|i| *i < 100));
}
