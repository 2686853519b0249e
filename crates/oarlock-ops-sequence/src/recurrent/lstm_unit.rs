//! `lstm_unit`: one step of a long short-term memory, from the sums of its gates.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::checks::expect_dims;
use oarlock_tensor::simd::Math;
use oarlock_tensor::{Dims, Tensor};

use crate::recurrent::lstm_cell::{Activations, CandidateAt, LstmCell, Step, StepGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&LstmUnit, &GRAD];

struct LstmUnit;

impl OpDef for LstmUnit {
    sig! {
        "lstm_unit":
            "with (i, f, o, g) = X: C = sigmoid(f + forget_bias) C_prev + sigmoid(i) tanh(g), H = sigmoid(o) tanh(C)";
        in "X": "sums of four gates per row: input, forget, output, candidate";
        in "C_prev": "the cells of the step before";
        out "C": "the cells, like `C_prev`";
        out "H": "the hidden states, like `C_prev`";
        attr "forget_bias" = 0.0f32, "added to the forget gate";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, cell) = (cx.float("X")?, cx.float("C_prev")?);
        match (&x.shape[..], &cell.shape[..]) {
            ([_, gates], [_, width]) if gates.fits(oarlock_ir::product(&[*width, Dim::Is(4)])) => {}
            _ => {
                let what = format!("cannot use {} with {}", cx.describe("X"), cx.describe("C_prev"));
                return Err(cx.shape_error(what).note("`X` must have four times as many columns as `C_prev`"));
            }
        }
        cx.set("C", cell.clone());
        cx.set("H", cell);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let unit = Unit::new(p)?;
        let (c, h) = (p.output("C")?, p.output("H")?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| {
                let (x, before) = (io.dense(unit.x)?, io.dense(unit.before)?);
                unit.forward(io, &x, &before, &mut scratch)?;
                for (out, from) in [(c, &scratch.cells), (h, &scratch.hidden)] {
                    let mut to = io.out_sized(out, <T as oarlock_tensor::Element>::DTYPE, *before.dims())?;
                    io.data_mut::<T>(out, &mut to)?.copy_from_slice(from);
                }
                Ok(())
            })
        })
    }
}

/// The inputs of both operators.
#[derive(Clone, Copy)]
struct Unit {
    x: In,
    before: In,
    forget_bias: f32,
}

/// Memory that a kernel keeps.
#[derive(Default)]
struct Scratch<T> {
    gates: Vec<T>,
    cells: Vec<T>,
    active: Vec<T>,
    hidden: Vec<T>,
}

impl Unit {
    fn new(p: &Prepare<'_>) -> Result<Unit> {
        Ok(Unit { x: p.input("X")?, before: p.input("C_prev")?, forget_bias: p.attrs().f32("forget_bias")? })
    }

    fn cell<T: Math>(&self, width: usize) -> LstmCell<'_, T> {
        let order = CandidateAt::Last;
        LstmCell { width, order, act: Activations::USUAL, peepholes: None, clip: T::ZERO }
    }

    /// Computes the step into `scratch`; returns rows and width.
    fn forward<T: Math>(
        &self,
        io: &Io<'_>,
        x: &Tensor,
        before: &Tensor,
        scratch: &mut Scratch<T>,
    ) -> Result<(usize, usize)> {
        let (rows, width) = before.dims().matrix(1);
        let width = width.max(1);
        expect_dims(io, self.before, before, &[rows, width], "rows and columns")?;
        expect_dims(io, self.x, x, &[rows, 4 * width], "four gates per row of `C_prev`")?;
        scratch.gates.clear();
        scratch.gates.extend_from_slice(io.data::<T>(self.x, x)?);
        let bias = T::of(self.forget_bias.into());
        for row in scratch.gates.chunks_exact_mut(4 * width) {
            row[width..2 * width].iter_mut().for_each(|f| *f += bias);
        }
        [&mut scratch.cells, &mut scratch.active, &mut scratch.hidden]
            .into_iter()
            .for_each(|v| v.resize(rows * width, T::ZERO));
        self.cell(width).forward(Step {
            gates: &mut scratch.gates,
            before: Some(io.data::<T>(self.before, before)?),
            cells: &mut scratch.cells,
            active: &mut scratch.active,
            hidden: &mut scratch.hidden,
        });
        Ok((rows, width))
    }
}

const GRAD: GradOp = GradOp::of(&LstmUnit, "lstm_unit_grad(X, C_prev, C, C@GRAD, H@GRAD) -> X@GRAD, C_prev@GRAD")
    .doc("gradients of `lstm_unit`, whose gates are computed again")
    .kernel(|p| {
        let unit = Unit::new(p)?;
        let (dc, dh) = (p.input("C@GRAD")?, p.input("H@GRAD")?);
        let (dx, dbefore) = (p.maybe_output("X@GRAD")?, p.maybe_output("C_prev@GRAD")?);
        by_float!(p.float("X")?, T => {
            let (mut scratch, mut dgates, mut dcells) = (Scratch::<T>::default(), Vec::<T>::new(), Vec::<T>::new());
            kernel(move |io| {
                let (x, before) = (io.dense(unit.x)?, io.dense(unit.before)?);
                let (rows, width) = unit.forward(io, &x, &before, &mut scratch)?;
                let (dct, dht) = (io.dense(dc)?, io.dense(dh)?);
                expect_dims(io, dc, &dct, &[rows, width], "like `C`")?;
                expect_dims(io, dh, &dht, &[rows, width], "like `H`")?;
                dcells.clear();
                dcells.extend_from_slice(io.data::<T>(dc, &dct)?);
                dgates.resize(rows * 4 * width, 0.0);
                unit.cell(width).backward(StepGrad {
                    gates: &scratch.gates,
                    before: Some(io.data::<T>(unit.before, &before)?),
                    cells: &scratch.cells,
                    active: &scratch.active,
                    dhidden: io.data::<T>(dh, &dht)?,
                    dcells: &mut dcells,
                    dgates: &mut dgates,
                    dpeepholes: None,
                });
                for (out, from, columns) in [(dx, &dgates, 4 * width), (dbefore, &dcells, width)] {
                    let Some(out) = out else { continue };
                    let dtype = <T as oarlock_tensor::Element>::DTYPE;
                    let mut to = io.out_sized(out, dtype, Dims::from([rows, columns]))?;
                    io.data_mut::<T>(out, &mut to)?.copy_from_slice(from);
                }
                Ok(())
            })
        })
    });

#[test]
fn lstm_unit() {
    use crate::testing::{check, noise, tensor};
    let g = 1f32.tanh();
    check("lstm_unit")
        .input("X", tensor([1, 4], &[0.0, -1.0, 0.0, 1.0]))
        .input("C_prev", tensor([1, 1], &[2.0]))
        .attr("forget_bias", 1.0f32)
        .output("C", tensor([1, 1], &[1.0 + 0.5 * g]))
        .output("H", tensor([1, 1], &[0.5 * (1.0 + 0.5 * g).tanh()]))
        .grad(&["X", "C_prev"])
        .run();
    let e = check("lstm_unit")
        .input("X", noise([2, 6], 1))
        .input("C_prev", noise([2, 2], 2))
        .any_output("C")
        .any_output("H")
        .error();
    assert!(e.contains("`X` must have four times as many columns as `C_prev`"), "{e}");
}
