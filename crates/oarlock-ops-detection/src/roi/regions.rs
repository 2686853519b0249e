//! Regions of interest: which image each one belongs to, and the attributes of pooling them.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kind, Prepare, Result, Sig, VarType, fail};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Float, Tensor};

use crate::sizes;

/// The sizes of a pooled region and the scale from regions to the feature map.
#[derive(Clone, Copy)]
pub(crate) struct Pooled {
    pub(crate) height: usize,
    pub(crate) width: usize,
    scale: f32,
}

impl Pooled {
    /// Adds the attributes to a signature.
    pub(crate) fn with_attrs(sig: Sig) -> Sig {
        sig.attr("spatial_scale", 1.0f32, "the feature map's size over that of the image to which regions refer")
            .attr("pooled_height", 1, "rows of a pooled region")
            .attr("pooled_width", 1, "columns of a pooled region")
    }

    /// Those of an operator.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Pooled> {
        Pooled::named(attrs, "pooled_height", "pooled_width")
    }

    /// Those of an operator that has other names for the sizes.
    pub(crate) fn named(attrs: &AttrView<'_>, height: &str, width: &str) -> Result<Pooled> {
        let size = |name: &str| match attrs.count(name)? {
            0 => fail!(Kind::Argument, "attribute `{name}` is 0; it must be above 0"),
            n => Ok(n),
        };
        let scale = attrs.f32("spatial_scale")?;
        if scale <= 0.0 || scale.is_nan() {
            fail!(Kind::Argument, "attribute `spatial_scale` is {scale}; it must be above 0")
        }
        Ok(Pooled { height: size(height)?, width: size(width)?, scale })
    }

    /// Cells of a pooled region.
    pub(crate) fn bins(&self) -> usize {
        self.height * self.width
    }

    pub(crate) fn scale<T: Float>(&self) -> T {
        T::of(self.scale.into())
    }

    /// The type of the pooled regions: [regions, channels, height, width].
    pub(crate) fn infer(
        &self,
        cx: &Infer<'_>,
        x: &str,
        values: usize,
        channels: impl Fn(Dim) -> Dim,
    ) -> Result<VarType> {
        let images = sizes::images(cx, x)?;
        let what = format!("[regions, {values}]");
        let rois = sizes::float(cx, "ROIs", &[None, Some(values)], &what)?;
        let shape = vec![rois.shape[0], channels(images.shape[1]), Dim::Is(self.height), Dim::Is(self.width)];
        Ok(VarType::tensor(images.dtype, shape))
    }
}

/// Where the images of regions are given.
#[derive(Clone, Copy)]
pub(crate) enum ImagesOf {
    /// By the LoD of the regions.
    Lod,
    /// By offsets, as a LoD has them.
    Offsets(In),
    /// By the number of regions of each image.
    Counts(In),
}

impl ImagesOf {
    /// By the input slot `RoisLod` if it is there.
    pub(crate) fn rois_lod(p: &Prepare<'_>) -> Result<ImagesOf> {
        Ok(p.maybe_input("RoisLod")?.map_or(ImagesOf::Lod, ImagesOf::Offsets))
    }
}

/// Regions and the rows of each image.
pub(crate) struct Regions<'t, T> {
    /// The values of all regions.
    pub(crate) values: &'t [T],
    offsets: Vec<usize>,
}

impl<'t, T: Float> Regions<'t, T> {
    /// Checked regions of `count` values each, for as many images as there are.
    pub(crate) fn new(
        io: &Io<'_>,
        (rois, tensor): (In, &'t Tensor),
        of: ImagesOf,
        (images, count): (usize, usize),
    ) -> Result<Regions<'t, T>> {
        let [rows, width] = sizes::dims(io, rois, tensor, "[regions, values]")?;
        sizes::ensure(io, rois, tensor, width == count, format_args!("[regions, {count}]"))?;
        let offsets = match of {
            ImagesOf::Lod => lod_rows::offsets(io, rois, tensor)?.to_vec(),
            ImagesOf::Offsets(slot) => given(io, slot, |v| v.iter().map(|&at| usize::try_from(at).ok()).collect())?,
            ImagesOf::Counts(slot) => given(io, slot, |v| {
                let mut end = Some(0usize);
                let next = v.iter().map(|&n| {
                    end = end.and_then(|end| end.checked_add(usize::try_from(n).ok()?));
                    end
                });
                std::iter::once(Some(0)).chain(next).collect()
            })?,
        };
        let named = match of {
            ImagesOf::Lod => rois,
            ImagesOf::Offsets(slot) | ImagesOf::Counts(slot) => slot,
        };
        let ascending = offsets.first() == Some(&0) && offsets.is_sorted() && offsets.last() == Some(&rows);
        if !ascending || offsets.len() != images + 1 {
            let what = format_args!("divides {rows} regions at {offsets:?}, which does not fit {images} images");
            return Err(io.error(Kind::Lod, named, what));
        }
        Ok(Regions { values: io.data::<T>(rois, tensor)?, offsets })
    }

    /// The image of every region.
    pub(crate) fn images(&self) -> Vec<usize> {
        let of = |(i, rows): (usize, &[usize])| std::iter::repeat_n(i, rows[1] - rows[0]);
        self.offsets.windows(2).enumerate().flat_map(of).collect()
    }

    /// The regions of an image.
    pub(crate) fn of_image(&self, image: usize) -> std::ops::Range<usize> {
        self.offsets[image]..self.offsets[image + 1]
    }
}

fn given(io: &Io<'_>, slot: In, read: impl FnOnce(&[i64]) -> Option<Vec<usize>>) -> Result<Vec<usize>> {
    let tensor = io.dense(slot)?;
    let values = io.data::<i64>(slot, &tensor)?;
    read(values).ok_or_else(|| io.error(Kind::Range, slot, format_args!("holds {values:?}, which count no regions")))
}

/// A coordinate as a whole number; far ones stay countable.
pub(crate) fn whole<T: Float>(v: T) -> i64 {
    v.f64().clamp(-1e9, 1e9) as i64
}
