//! Backward passes.

use std::sync::Arc;

use oarlock::Kind;
use oarlock::eager::{BackwardOptions, CustomGradient, EagerTensor, LeafGradient, Target};
use oarlock::ir::Attrs;
use oarlock::prelude::*;
use oarlock::tensor::Value;

use super::{binary, engine, grad, leaf, unary, values};

const ONCE: BackwardOptions =
    BackwardOptions { retain_graph: false, create_graph: false, leaves: LeafGradient::Overwrite };
const RETAIN: BackwardOptions = BackwardOptions { retain_graph: true, ..ONCE };

#[test]
fn gradients_of_several_uses_are_added() {
    let engine = engine();
    let x = leaf(&engine, &[3.0]);
    let y = binary(&engine, "elementwise_mul", &x, &x);
    let z = binary(&engine, "elementwise_add", &y, &y);
    engine.backward(&[(z.clone(), None)], RETAIN).unwrap();
    assert_eq!((grad(&x), grad(&y), grad(&z)), (vec![12.0], vec![2.0], vec![1.0]));
    engine.backward(&[(z.clone(), None)], RETAIN).unwrap();
    assert_eq!(grad(&x), [12.0], "Fluid 1.8 overwrites");
    let accumulate = BackwardOptions { leaves: LeafGradient::Accumulate, ..RETAIN };
    engine.backward(&[(z, None)], accumulate).unwrap();
    assert_eq!(grad(&x), [24.0], "Paddle 2 accumulates");
}

#[test]
fn second_pass_through_a_freed_graph_names_the_operator() {
    let engine = engine();
    let x = leaf(&engine, &[3.0]);
    let y = unary(&engine, "square", &x);
    engine.backward(&[(y.clone(), None)], ONCE).unwrap();
    let e = engine.backward(&[(y, None)], ONCE).unwrap_err();
    assert!(e.to_string().contains("gone through `square` already"), "{e}");
    assert!(e.to_string().contains("retain_graph=True"), "{e}");
}

#[test]
fn gradient_of_a_gradient_is_recorded_on_request() {
    let engine = engine();
    let x = leaf(&engine, &[3.0]);
    let y = binary(&engine, "elementwise_mul", &unary(&engine, "square", &x), &x);
    let create = BackwardOptions { create_graph: true, retain_graph: true, ..ONCE };
    let first = engine.grad(&[(y, None)], std::slice::from_ref(&x), &[], create).unwrap().remove(0).unwrap();
    let second =
        engine.grad(&[(first.clone(), None)], std::slice::from_ref(&x), &[], RETAIN).unwrap().remove(0).unwrap();
    assert_eq!((values(&first), values(&second)), (vec![27.0], vec![18.0]));
    assert!(x.grad().is_none(), "`grad` leaves nothing in the tensors");
}

#[test]
fn grad_finds_inner_tensors_and_stops_where_told() {
    let engine = engine();
    let (x, unused) = (leaf(&engine, &[2.0]), leaf(&engine, &[1.0]));
    let y = unary(&engine, "square", &x);
    let z = binary(&engine, "elementwise_mul", &y, &x);
    let found = engine.grad(&[(z.clone(), None)], &[y.clone(), x.clone(), unused], &[], RETAIN).unwrap();
    let found: Vec<Option<Vec<f64>>> = found.iter().map(|g| g.as_ref().map(values)).collect();
    assert_eq!(found, [Some(vec![2.0]), Some(vec![12.0]), None]);
    let stopped = engine.grad(&[(z, None)], &[x], &[y], RETAIN).unwrap();
    assert_eq!(values(stopped[0].as_ref().unwrap()), [4.0]);
}

#[test]
fn nothing_is_recorded_without_need() {
    let engine = engine();
    let x = leaf(&engine, &[3.0]);
    engine.set_records(false);
    let y = unary(&engine, "square", &x);
    engine.set_records(true);
    assert!(y.stop_gradient() && y.is_leaf());
    let constant = unary(&engine, "square", &x.detach().unwrap());
    assert!(constant.stop_gradient());
    let largest = engine.build("arg_max").input("X", &x).attr("axis", 0i64).get("Out").unwrap();
    assert!(largest.stop_gradient(), "no gradient flows through an index");
}

#[test]
fn hooks_see_and_change_gradients() {
    let engine = Arc::new(engine());
    let x = leaf(&engine, &[3.0]);
    let y = unary(&engine, "square", &x);
    let doubling = {
        let engine = engine.clone();
        Arc::new(move |g: &EagerTensor| Ok(Some(binary(&engine, "elementwise_add", g, g))))
    };
    y.register_hook(doubling.clone());
    let z = unary(&engine, "relu", &y);
    engine.backward(&[(z.clone(), None)], RETAIN).unwrap();
    assert_eq!(grad(&x), [12.0], "of an inner tensor");
    x.register_hook(doubling);
    engine.backward(&[(z, None)], RETAIN).unwrap();
    assert_eq!(grad(&x), [24.0], "of a leaf");
}

#[test]
fn change_in_place_of_a_tensor_that_the_gradient_needs_is_an_error() {
    let engine = engine();
    let x = leaf(&engine, &[3.0]);
    let w = leaf(&engine, &[2.0]);
    let y = binary(&engine, "elementwise_mul", &x, &w);
    engine.set_value(&w, Tensor::scalar(5.0f32));
    let e = engine.backward(&[(y, None)], ONCE).unwrap_err();
    assert!(e.to_string().contains("`elementwise_mul` needs a tensor that was changed in place"), "{e}");
    let y = binary(&engine, "elementwise_mul", &x, &w);
    engine.exchange_value(&w, Tensor::scalar(7.0f32));
    engine.backward(&[(y, None)], ONCE).unwrap();
    assert_eq!(grad(&x), [5.0], "the value that the operator read");
}

#[test]
fn operator_without_gradient_fails_in_the_pass_that_needs_it() {
    let engine = engine();
    let x = leaf(&engine, &[3.0]);
    let one = engine.tensor(Tensor::from_slice([1], &[1.0f32]).unwrap());
    let y = engine
        .build("elementwise_floordiv")
        .input("X", &engine.tensor(Tensor::from_slice([1], &[7i64]).unwrap()))
        .input("Y", &engine.tensor(Tensor::from_slice([1], &[2i64]).unwrap()))
        .get("Out")
        .unwrap();
    assert_eq!(values(&y), [3.0]);
    let third = {
        let create = BackwardOptions { create_graph: true, retain_graph: true, ..ONCE };
        let cube = binary(&engine, "elementwise_mul", &binary(&engine, "elementwise_mul", &x, &x), &x);
        let mut of = cube;
        for _ in 0..2 {
            of = engine.grad(&[(of, None)], std::slice::from_ref(&x), &[], create).unwrap().remove(0).unwrap();
        }
        engine.grad(&[(of, Some(one))], &[x], &[], create)
    };
    assert_eq!(third.unwrap_err().kind(), Kind::NoGradient);
}

#[test]
fn embedding_gets_a_row_sparse_gradient() {
    let engine = engine();
    let table = engine.tensor(Tensor::zeros(DType::F32, [5, 2]));
    table.set_stop_gradient(false);
    let ids = engine.tensor(Tensor::from_slice([3], &[1i64, 4, 1]).unwrap());
    let lookup = || {
        let call = engine.build("lookup_table_v2").input("W", &table).input("Ids", &ids);
        call.attr("is_sparse", true).get("Out").unwrap()
    };
    let both = binary(&engine, "elementwise_add", &lookup(), &lookup());
    engine.backward(&[(both, None)], ONCE).unwrap();
    let gradient = table.grad().unwrap();
    let rows = gradient.with_value(|v| v.rows().map(|r| (r.rows.clone(), r.value.to_f64()))).unwrap();
    assert_eq!(rows, Ok((vec![1, 4], vec![4.0, 4.0, 2.0, 2.0])), "the rows of both uses, no dense matrix");
}

#[test]
fn long_chain_is_dropped_without_recursion() {
    let engine = engine();
    let x = leaf(&engine, &[1.0]);
    let handle = engine.op("scale", Attrs::default()).unwrap();
    let mut y = x.clone();
    for _ in 0..200_000 {
        let args = oarlock::eager::Args {
            inputs: &[Some(y)],
            input_counts: &[1, 0],
            outputs: &[Target::New],
            output_counts: &[1],
        };
        y = engine.call(&handle, args).unwrap().remove(0).unwrap();
    }
    engine.backward(&[(y.clone(), None)], RETAIN).unwrap();
    assert_eq!(grad(&x), [1.0]);
    drop(y);
}

#[test]
fn function_of_the_user_takes_part_in_the_graph() {
    struct Triple;
    impl CustomGradient for Triple {
        fn backward(&self, grads: Vec<Option<EagerTensor>>) -> Result<Vec<Option<EagerTensor>>> {
            let engine = super::engine();
            let scale = |g: EagerTensor| engine.build("scale").input("X", &g).attr("scale", 3.0f32).get("Out");
            grads.into_iter().map(|g| g.map(scale).transpose()).collect()
        }
    }
    let engine = engine();
    let x = leaf(&engine, &[2.0]);
    let tripled = Value::Dense(Tensor::from_slice([1], &[6.0f32]).unwrap());
    let y = engine.record_custom("triple", std::slice::from_ref(&x), vec![tripled], Arc::new(Triple)).remove(0);
    let z = unary(&engine, "square", &y);
    engine.backward(&[(z, None)], ONCE).unwrap();
    assert_eq!(grad(&x), [36.0]);
}

#[test]
fn not_a_number_is_found_where_it_is_made() {
    let engine = engine();
    engine.set_check_nan_inf(true);
    let x = leaf(&engine, &[-1.0]);
    let e = engine.build("log").input("X", &x).run().err().unwrap();
    assert_eq!(e.kind(), Kind::Nan);
    assert!(e.to_string().contains("`log` wrote NaN"), "{e}");
}

#[test]
fn profile_lists_eager_operators() {
    let engine = engine();
    engine.start_profile();
    let x = leaf(&engine, &[1.0]);
    let y = unary(&engine, "square", &x);
    engine.backward(&[(y, None)], ONCE).unwrap();
    let profile = engine.stop_profile().unwrap();
    let ran: Vec<String> = profile.by_type().iter().map(|t| t.op_type.to_string()).collect();
    assert!(ran.contains(&"square".into()) && ran.contains(&"square_grad".into()), "{ran:?}");
}

#[test]
fn wrong_arguments_are_named() {
    let engine = engine();
    let x = leaf(&engine, &[1.0, 2.0]);
    let text = |e: Error| e.to_string();
    let y = leaf(&engine, &[1.0, 2.0, 3.0]);
    let e = engine.build("elementwise_add").input("X", &x).input("Y", &y).run().err().map(text).unwrap();
    assert!(e.contains("`elementwise_add`") && e.contains("[2]") && e.contains("[3]"), "{e}");
    let e = engine.build("relu").input("Z", &x).run().err().map(text).unwrap();
    assert!(e.contains("`relu` has no input `Z`"), "{e}");
    let e = engine.build("rellu").input("X", &x).run().err().map(text).unwrap();
    assert!(e.contains("did you mean `relu`?"), "{e}");
}

#[test]
fn second_gradient_leaves_out_what_nobody_wants() {
    let engine = engine();
    let x = leaf(&engine, &[1.0, 3.0]);
    let create = BackwardOptions { create_graph: true, retain_graph: true, ..ONCE };
    let mean = engine.build("reduce_mean").input("X", &unary(&engine, "square", &x)).attr("reduce_all", true);
    let mean = mean.get("Out").unwrap();
    let first = engine.grad(&[(mean, None)], std::slice::from_ref(&x), &[], create).unwrap().remove(0).unwrap();
    let squared = unary(&engine, "square", &first);
    engine.backward(&[(squared, None)], ONCE).unwrap();
    assert_eq!(grad(&x), [2.0, 6.0], "the seed of the mean has no gradient");
}
