//! `spp`: an image pooled to rows of one length, whatever its size, by windows of several sizes.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, VarType, by_float, fail};
use oarlock_ir::{kernel, sig};
use oarlock_ops_support::checks;
use oarlock_tensor::{Dims, Element, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Spp, &SPP_GRAD];

/// More levels than any image has.
const MOST_LEVELS: usize = 16;

struct Spp;

impl OpDef for Spp {
    sig! {
        "spp":
            "spatial pyramid pooling: Out[n] = for levels p = 0, 1, ..., the greatest or mean of each of 2^p x 2^p windows of every \
             channel of X[n], one level after the other";
        in "X": "[n, channels, h, w], f32 or f64";
        out "Out": "[n, channels * (4^pyramid_height - 1) / 3]";
        attr "pyramid_height": "the number of levels";
        attr "pooling_type": "max or avg";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, pyramid) = (cx.float("X")?, Pyramid::new(&cx.attrs())?);
        let &[n, channels, h, w] = &x.shape[..] else {
            return Err(cx.shape_error(format_args!("needs images [n, channels, h, w], but has {}", cx.describe("X"))));
        };
        if [h, w].iter().any(|size| size.known().is_some_and(|n| pyramid.windows(n).is_none())) {
            let what = format_args!("cannot divide {} into {} windows along an axis", cx.describe("X"), pyramid.most());
            return Err(cx.shape_error(what).help("use fewer levels, or larger images"));
        }
        let width = oarlock_ir::product(&[channels, Dim::Is(pyramid.bins())]);
        cx.set("Out", VarType::tensor(x.dtype, vec![n, width]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, pyramid) = (p.input("X")?, p.output("Out")?, Pyramid::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            let images = Images::new(io, x, &tensor, &pyramid)?;
            let dims = Dims::from([images.n, images.channels * pyramid.bins()]);
            let mut to = io.out_sized(out, <T as Element>::DTYPE, dims)?;
            let (data, to) = (io.data::<T>(x, &tensor)?, io.data_mut::<T>(out, &mut to)?);
            images.each(|to_at, window| {
                to[to_at] = if pyramid.max { data[window.greatest(data)] } else { window.mean(data) };
            });
            Ok(())
        }))
    }
}

/// The attributes.
#[derive(Clone, Copy)]
struct Pyramid {
    levels: usize,
    max: bool,
}

impl Pyramid {
    fn new(attrs: &AttrView<'_>) -> Result<Pyramid> {
        let max = match attrs.str("pooling_type")? {
            "max" => true,
            "avg" => false,
            other => fail!(Kind::Argument, "attribute `pooling_type` is `{other}`; it can be `max` or `avg`"),
        };
        match attrs.count("pyramid_height")? {
            levels @ 1..=MOST_LEVELS => Ok(Pyramid { levels, max }),
            levels => {
                fail!(Kind::Argument, "attribute `pyramid_height` is {levels}; it must be from 1 to {MOST_LEVELS}")
            }
        }
    }

    /// Windows along an axis of the last level.
    fn most(&self) -> usize {
        1 << (self.levels - 1)
    }

    /// Windows of all levels.
    fn bins(&self) -> usize {
        ((1 << (2 * self.levels)) - 1) / 3
    }

    /// For each level, first pixel and end of the windows along an axis; `None` if one of them would be empty.
    fn windows(&self, n: usize) -> Option<Vec<Vec<(usize, usize)>>> {
        let level = |p: usize| {
            let bins = 1usize << p;
            let size = n.div_ceil(bins);
            let before = (size * bins - n).div_ceil(2);
            let window = |i: usize| {
                let span = ((i * size).saturating_sub(before), ((i + 1) * size).saturating_sub(before).min(n));
                (span.0 < span.1).then_some(span)
            };
            (0..bins).map(window).collect::<Option<Vec<_>>>()
        };
        (0..self.levels).map(level).collect()
    }
}

/// A window of an image.
struct Window {
    /// Where the image begins.
    start: usize,
    /// Pixels of a row of the image.
    stride: usize,
    rows: (usize, usize),
    columns: (usize, usize),
}

impl Window {
    /// The pixels, row after row.
    fn pixels(&self) -> impl Iterator<Item = usize> + '_ {
        let row = move |y: usize| (self.columns.0..self.columns.1).map(move |x| self.start + y * self.stride + x);
        (self.rows.0..self.rows.1).flat_map(row)
    }

    fn count(&self) -> usize {
        (self.rows.1 - self.rows.0) * (self.columns.1 - self.columns.0)
    }

    /// The place of the greatest pixel, of equals the first.
    fn greatest<T: Float>(&self, data: &[T]) -> usize {
        let first = self.start + self.rows.0 * self.stride + self.columns.0;
        self.pixels().fold(first, |best, at| if data[at] > data[best] { at } else { best })
    }

    fn mean<T: Float>(&self, data: &[T]) -> T {
        self.pixels().map(|at| data[at]).sum::<T>() / T::of(self.count() as f64)
    }
}

/// Checked sizes of the images, and their windows.
struct Images {
    n: usize,
    channels: usize,
    pixels: usize,
    width: usize,
    rows: Vec<Vec<(usize, usize)>>,
    columns: Vec<Vec<(usize, usize)>>,
    bins: usize,
}

impl Images {
    fn new(io: &Io<'_>, x: In, tensor: &Tensor, pyramid: &Pyramid) -> Result<Images> {
        if let [n, channels, h, w] = tensor.dims()[..]
            && let (Some(rows), Some(columns)) = (pyramid.windows(h), pyramid.windows(w))
        {
            return Ok(Images { n, channels, pixels: h * w, width: w, rows, columns, bins: pyramid.bins() });
        }
        let what = format_args!("is {}: no images with {} windows along each axis", tensor.dims(), pyramid.most());
        Err(io.error(Kind::Shape, x, what).help("use fewer levels, or larger images"))
    }

    /// Calls `f` with every window and its place in the result.
    fn each(&self, mut f: impl FnMut(usize, Window)) {
        for image in 0..self.n {
            let mut to = image * self.channels * self.bins;
            for (rows, columns) in self.rows.iter().zip(&self.columns) {
                for channel in 0..self.channels {
                    let start = (image * self.channels + channel) * self.pixels;
                    for (&rows, &columns) in rows.iter().flat_map(|r| columns.iter().map(move |c| (r, c))) {
                        f(to, Window { start, stride: self.width, rows, columns });
                        to += 1;
                    }
                }
            }
        }
    }
}

const SPP_GRAD: GradOp = GradOp::of(&Spp, "spp_grad(X, Out?, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD gets each element of Out@GRAD at the greatest pixel of its window, or shared among all pixels of the window")
    .traits(oarlock_ir::Traits::NONE.shape_only(&["Out"]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let pyramid = Pyramid::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (tensor, d) = (io.dense(x)?, io.dense(dout)?);
            let images = Images::new(io, x, &tensor, &pyramid)?;
            let d = checks::sized::<T>(io, dout, &d, images.n * images.channels * pyramid.bins())?;
            let mut to = io.out_sized(dx, <T as Element>::DTYPE, *tensor.dims())?;
            let (data, to) = (io.data::<T>(x, &tensor)?, io.data_mut::<T>(dx, &mut to)?);
            to.fill(0.0);
            images.each(|from, window| {
                if pyramid.max {
                    to[window.greatest(data)] += d[from];
                } else {
                    let part = d[from] / T::of(window.count() as f64);
                    window.pixels().for_each(|at| to[at] += part);
                }
            });
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn case(kind: &str, levels: i32) -> Check {
        check("spp").attr("pooling_type", kind).attr("pyramid_height", levels)
    }

    #[test]
    fn levels_follow_each_other() {
        let x = || tensor([1, 1, 2, 3], &[1.0, 2.0, 3.0, 6.0, 5.0, 4.0]);
        case("max", 2).input("X", x()).output("Out", tensor([1, 5], &[6.0, 1.0, 3.0, 6.0, 5.0])).run();
        case("avg", 2).input("X", x()).output("Out", tensor([1, 5], &[3.5, 1.0, 2.5, 6.0, 4.5])).run();
    }

    #[test]
    fn gradients_follow_the_windows() {
        // Those of the largest element are compared with Fluid's: differences jump where another element becomes the largest.
        case("avg", 3).input("X", noise([2, 2, 7, 8], 3)).any_output("Out").grad(&["X"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case("max", 3).input("X", noise([1, 1, 3, 3], 1)).any_output("Out").error();
        assert!(e.contains("cannot divide `X` = X.0 f32[1, 1, 3, 3] into 4 windows along an axis"), "{e}");
        let e = case("min", 3).input("X", noise([1, 1, 3, 3], 1)).any_output("Out").error();
        assert!(e.contains("attribute `pooling_type` is `min`; it can be `max` or `avg`"), "{e}");
        let e = case("max", 0).input("X", noise([1, 1, 3, 3], 1)).any_output("Out").error();
        assert!(e.contains("attribute `pyramid_height` is 0; it must be from 1 to 16"), "{e}");
    }
}
