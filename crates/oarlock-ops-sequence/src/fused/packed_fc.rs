//! `packed_fc`: a fully connected layer whose weights stand in the order in which the product reads them; `pack_weights` puts
//! them there. Predictors use both: they pack once, when a model is loaded.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, VarType, by_float, kernel, sig};
use oarlock_tensor::gemm::{Mat, Packed, gemm_packed};
use oarlock_tensor::{Dims, Element, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&PackedFc, &PackWeights];

struct PackWeights;

impl OpDef for PackWeights {
    sig! {
        "pack_weights": "the elements of a matrix in the order in which `packed_fc` reads them on this CPU";
        in "X": "a float matrix";
        out "Out": "its elements and what fills up the last columns; only good for this process";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", VarType::tensor(x.dtype, vec![Dim::Any]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let w = io.dense(x)?;
            let &[rows, cols] = &w.dims()[..] else {
                return Err(io.error(Kind::Shape, x, format_args!("is {}, but a matrix is needed", w.dims())));
            };
            let mut t = io.out_sized(out, <T as Element>::DTYPE, Dims::from([Packed::<T>::len(rows, cols)]))?;
            Packed::pack(io.data_mut::<T>(out, &mut t)?, Mat::new(io.data::<T>(x, &w)?, rows, cols));
            Ok(())
        }))
    }
}

struct PackedFc;

impl OpDef for PackedFc {
    sig! {
        "packed_fc": "Out = activation(X W + Bias) with W packed by `pack_weights`; without a gradient";
        in "X": "rows";
        in "W": "packed weights";
        in "Bias": "one value per column";
        out "Out": "activated sums";
        attr "columns": "columns of the weights";
        attr "x_num_col_dims" = 1, "dimensions of `X` that count rows";
        attr "activation" = "", "`relu` or nothing";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let (rows, n) = (cx.attrs().count("x_num_col_dims")?, cx.attrs().count("columns")?);
        let sizes: Vec<Dim> = x.shape.iter().take(rows).copied().chain([Dim::Is(n)]).collect();
        cx.set("Out", x.with_shape(sizes));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, w, b, out) = (p.input("X")?, p.input("W")?, p.input("Bias")?, p.output("Out")?);
        let (rows, n) = (p.attrs().count("x_num_col_dims")?, p.attrs().count("columns")?);
        let relu = p.attrs().str("activation")? == "relu";
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (xt, wt, bt) = (io.dense(x)?, io.dense(w)?, io.dense(b)?);
            let (m, k) = xt.dims().matrix(rows);
            let (xs, ws, bs) = (io.data::<T>(x, &xt)?, io.data::<T>(w, &wt)?, io.data::<T>(b, &bt)?);
            if ws.len() != Packed::<T>::len(k, n) || bs.len() != n {
                return Err(io.error(Kind::Shape, x, format_args!("is {}, which packed weights of {} elements for {n} \
                    columns and a bias of {} do not fit", xt.dims(), ws.len(), bt.dims())));
            }
            let mut dims = Dims::new(&xt.dims()[..rows]);
            dims.push(n);
            let mut t = io.out_sized(out, <T as Element>::DTYPE, dims)?;
            t.set_lod(xt.lod().clone());
            let y = io.data_mut::<T>(out, &mut t)?;
            gemm_packed(io.pool(), y, Mat::new(xs, m, k), Packed::new(ws, k, n));
            if relu { simd::add_bias_relu(y, bs) } else { simd::add_bias(y, bs) }
            Ok(())
        }))
    }
}

#[test]
fn packed_fc() {
    use crate::testing::{check, tensor};
    let (w, columns) = (&[1.0f32, 1.0, 2.0, 1.0], 2);
    let mut room = vec![0.0; Packed::<f32>::len(2, columns)];
    Packed::pack(&mut room, Mat::new(w, 2, columns));
    let packed = || tensor([room.len()], &room);
    check("pack_weights").input("X", tensor([2, 2], w)).output("Out", packed()).run();
    let fc = || {
        let fc = check("packed_fc").input("X", tensor([1, 2], &[1.0, 2.0])).input("Bias", tensor([2], &[0.5, -9.0]));
        fc.attr("columns", columns as i32)
    };
    fc().input("W", packed()).output("Out", tensor([1, 2], &[5.5, -6.0])).run();
    fc().input("W", packed()).attr("activation", "relu").output("Out", tensor([1, 2], &[5.5, 0.0])).run();
    let e = fc().input("W", tensor([3], &[1.0, 1.0, 1.0])).any_output("Out").error();
    assert!(
        e.contains("is [1, 2], which packed weights of 3 elements for 2 columns and a bias of [2] do not fit"),
        "{e}"
    );
}
