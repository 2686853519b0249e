//! `grid_sampler`: pixels of an image at given points.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_tensor::{Dims, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&GridSampler, &GRAD];

struct GridSampler;

impl OpDef for GridSampler {
    sig! {
        "grid_sampler": "Output[n, c, y, x] = X[n, c] at the point Grid[n, y, x], linear between pixels, 0 outside";
        in "X": "[n, channels, h, w], f32 or f64";
        in "Grid": "[n, h, w, 2]: horizontal and vertical place, from -1 to 1 over the image";
        out "Output": "like `X`, with height and width of the grid";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, grid) = (cx.float("X")?, cx.float("Grid")?);
        let ([n, c, ..], [grids, h, w, two], 4) = (&x.shape[..], &grid.shape[..], x.shape.rank()) else {
            return Err(wrong(cx));
        };
        if !n.fits(*grids) || !two.fits(Dim::Is(2)) {
            return Err(wrong(cx));
        }
        cx.set("Output", VarType::tensor(x.dtype, vec![*n, *c, *h, *w]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("Grid")?), p.output("Output")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, inputs, out)))
    }
}

fn wrong(cx: &Infer<'_>) -> oarlock_ir::Error {
    cx.shape_error(format_args!("cannot sample {} at {}", cx.describe("X"), cx.describe("Grid")))
        .help("images are [n, channels, h, w], points [n, h, w, 2]")
}

/// Sizes of one run.
struct Sizes {
    channels: usize,
    height: usize,
    width: usize,
    /// Points of an image.
    points: usize,
}

impl Sizes {
    fn new(io: &Io<'_>, grid: In, x: &Tensor, grids: &Tensor) -> Result<Sizes> {
        match (&x.dims()[..], &grids.dims()[..]) {
            ([n, c, h, w], [m, gh, gw, 2]) if n == m => {
                Ok(Sizes { channels: *c, height: *h, width: *w, points: gh * gw })
            }
            _ => {
                let what = format_args!("has sizes {}, which do not fit images {}", grids.dims(), x.dims());
                Err(io.error(Kind::Shape, grid, what))
            }
        }
    }

    fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// The four pixels around a point: where each is in its channel if it is inside, its weight, and how the weight changes
    /// with the point.
    fn around<T: Float>(&self, point: &[T]) -> [(Option<usize>, T, [T; 2]); 4] {
        let half = T::of(0.5);
        let scale = [self.width, self.height].map(|n| T::of(n as f64 - 1.0) * half);
        let at = [(point[0] + T::ONE) * scale[0], (point[1] + T::ONE) * scale[1]];
        let low = [at[0].floor(), at[1].floor()];
        let inside = |v: T, n: usize| (v >= T::ZERO && v < T::of(n as f64)).then(|| v.f64() as usize);
        [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(dy, dx)| {
            let step = |axis: usize, up: usize| {
                let high = at[axis] - low[axis];
                if up == 1 { (low[axis] + T::ONE, high, scale[axis]) } else { (low[axis], T::ONE - high, -scale[axis]) }
            };
            let ((x, wx, gx), (y, wy, gy)) = (step(0, dx), step(1, dy));
            let place = inside(y, self.height).zip(inside(x, self.width)).map(|(y, x)| y * self.width + x);
            (place, wx * wy, [gx * wy, wx * gy])
        })
    }
}

fn forward<T: Float>(io: &Io<'_>, (x, grid): (In, In), out: Out) -> Result<()> {
    let (x_tensor, grid_tensor) = (io.dense(x)?, io.dense(grid)?);
    let sizes = Sizes::new(io, grid, &x_tensor, &grid_tensor)?;
    let dims = grid_tensor.dims();
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([dims[0], sizes.channels, dims[1], dims[2]]))?;
    let (x, out) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(out, &mut t)?);
    for (i, point) in io.data::<T>(grid, &grid_tensor)?.chunks_exact(2).enumerate() {
        let (image, point_index) = (i / sizes.points, i % sizes.points);
        let around = sizes.around(point);
        for c in 0..sizes.channels {
            let plane = image * sizes.channels + c;
            let value = |(place, weight, _): &(Option<usize>, T, _)| {
                place.map_or(T::ZERO, |p| x[plane * sizes.pixels() + p] * *weight)
            };
            out[plane * sizes.points + point_index] = around.iter().map(value).sum();
        }
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&GridSampler, "grid_sampler_grad(X, Grid, Output@GRAD) -> X@GRAD, Grid@GRAD")
    .doc("gradients of `grid_sampler`")
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("Grid")?, p.input("Output@GRAD")?);
        let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Grid@GRAD")?);
        by_float!(p.float("X")?, T => {
            let mut scratch = [const { Vec::<T>::new() }; 2];
            kernel(move |io| backward::<T>(io, inputs, outputs, &mut scratch))
        })
    });

fn backward<T: Float>(
    io: &Io<'_>,
    (x, grid, dout): (In, In, In),
    (dx, dgrid): (Option<Out>, Option<Out>),
    [x_sums, grid_sums]: &mut [Vec<T>; 2],
) -> Result<()> {
    let (x_tensor, grid_tensor, dout_tensor) = (io.dense(x)?, io.dense(grid)?, io.dense(dout)?);
    let sizes = Sizes::new(io, grid, &x_tensor, &grid_tensor)?;
    let (xs, points, d) =
        (io.data::<T>(x, &x_tensor)?, io.data::<T>(grid, &grid_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, grid, dout, points.len() / 2 * sizes.channels, d.len())?;
    for (sums, len) in [(&mut *x_sums, xs.len()), (&mut *grid_sums, points.len())] {
        sums.clear();
        sums.resize(len, T::ZERO);
    }
    for (i, (point, grid_sum)) in points.chunks_exact(2).zip(grid_sums.chunks_exact_mut(2)).enumerate() {
        for (place, weight, change) in sizes.around(point) {
            let Some(place) = place else { continue };
            for c in 0..sizes.channels {
                let plane = i / sizes.points * sizes.channels + c;
                let (at, d) = (plane * sizes.pixels() + place, d[plane * sizes.points + i % sizes.points]);
                x_sums[at] += d * weight;
                grid_sum[0] += d * xs[at] * change[0];
                grid_sum[1] += d * xs[at] * change[1];
            }
        }
    }
    for (out, tensor, sums) in [(dx, &x_tensor, &*x_sums), (dgrid, &grid_tensor, &*grid_sums)] {
        let Some(out) = out else { continue };
        let mut t = io.out_sized(out, T::DTYPE, *tensor.dims())?;
        io.data_mut::<T>(out, &mut t)?.copy_from_slice(sums);
    }
    Ok(())
}

#[test]
fn between_pixels() {
    use crate::testing::{check, noise, tensor};
    check("grid_sampler")
        .input("X", tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input("Grid", tensor([1, 1, 3, 2], &[-1.0, -1.0, 0.0, 0.0, 2.0, 1.0]))
        .output("Output", tensor([1, 1, 1, 3], &[1.0, 2.5, 2.0]))
        .run();
    let points = tensor([1, 2, 2, 2], &[-0.7, 0.3, 0.1, -0.2, 0.9, 0.8, 1.3, -0.6]);
    let case = check("grid_sampler").input("X", noise([1, 2, 3, 4], 1)).input("Grid", points).any_output("Output");
    case.grad(&["X", "Grid"]).run();
    let e = check("grid_sampler").input("X", noise([1, 2, 3, 4], 1)).input("Grid", noise([2, 2, 2, 2], 2));
    let e = e.any_output("Output").error();
    assert!(e.contains("`grid_sampler` cannot sample `X` = X.0 f32[1, 2, 3, 4] at `Grid` = Grid.0"), "{e}");
}
