//! Checks of the sizes of inputs, when a program is built and when it runs; errors name the slot.

use std::fmt::Display;

use oarlock_ir::{Dim, In, Infer, Io, Kind, Result, VarType};
use oarlock_tensor::{Element, Float, Tensor};

/// Checks that an input has these sizes, as far as they are known; `None` stands for any size. `what` says what they are.
pub(crate) fn expect(cx: &Infer<'_>, slot: &str, ty: &VarType, sizes: &[Option<usize>], what: &str) -> Result<()> {
    let fits = |(d, size): (&Dim, &Option<usize>)| size.is_none_or(|n| d.fits(Dim::Is(n)));
    if ty.shape.rank() == sizes.len() && ty.shape.iter().zip(sizes).all(fits) {
        return Ok(());
    }
    Err(cx.shape_error(format_args!("needs {what} in {}", cx.describe(slot))))
}

/// The type of an f32 or f64 input of these sizes.
pub(crate) fn float(cx: &Infer<'_>, slot: &str, sizes: &[Option<usize>], what: &str) -> Result<VarType> {
    let ty = cx.float(slot)?;
    expect(cx, slot, &ty, sizes, what)?;
    Ok(ty)
}

/// The type of an f32 or f64 input of boxes.
pub(crate) fn boxes(cx: &Infer<'_>, slot: &str) -> Result<VarType> {
    float(cx, slot, &[None, Some(4)], BOXES)
}

/// The type of an f32 or f64 input of images.
pub(crate) fn images(cx: &Infer<'_>, slot: &str) -> Result<VarType> {
    float(cx, slot, &[None; 4], IMAGES)
}

/// Sizes of boxes, for messages.
pub(crate) const BOXES: &str = "[boxes, 4]";

/// Sizes of images, for messages.
pub(crate) const IMAGES: &str = "[images, channels, height, width]";

/// The sizes of an input that must have `N` of them.
pub(crate) fn dims<const N: usize>(io: &Io<'_>, input: In, t: &Tensor, what: &str) -> Result<[usize; N]> {
    <[usize; N]>::try_from(&t.dims()[..]).map_err(|_| wrong(io, input, t, what))
}

/// Checks the sizes of an input.
pub(crate) fn ensure(io: &Io<'_>, input: In, t: &Tensor, holds: bool, what: impl Display) -> Result<()> {
    if holds { Ok(()) } else { Err(wrong(io, input, t, what)) }
}

fn wrong(io: &Io<'_>, input: In, t: &Tensor, what: impl Display) -> oarlock_ir::Error {
    io.error(Kind::Shape, input, format_args!("is {}, but must be {what}", t.dims()))
}

/// The boxes of a tensor of any shape whose last size is 4.
pub(crate) fn boxes_of<'t, T: Float>(io: &Io<'_>, input: In, t: &'t Tensor) -> Result<&'t [[T; 4]]> {
    ensure(io, input, t, t.dims().last() == Some(&4), "boxes, with 4 as the last size")?;
    Ok(io.data::<T>(input, t)?.as_chunks::<4>().0)
}

/// The elements of a tensor that must have as many as the operator needs.
pub(crate) fn counted<'t, T: Element>(io: &Io<'_>, input: In, t: &'t Tensor, count: usize) -> Result<&'t [T]> {
    oarlock_ops_support::checks::sized(io, input, t, count)
}

/// Height, width and scale of each image.
pub(crate) fn image_infos<'t, T: Float>(io: &Io<'_>, input: In, t: &'t Tensor, images: usize) -> Result<&'t [[T; 3]]> {
    let what = format_args!("[{images}, 3]: height, width and scale of each image");
    ensure(io, input, t, t.dims()[..] == [images, 3], what)?;
    Ok(io.data::<T>(input, t)?.as_chunks::<3>().0)
}
