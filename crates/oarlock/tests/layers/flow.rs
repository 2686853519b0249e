//! Arrays and control flow.

use oarlock::prelude::*;

use super::{Case, cases};

fn scaled(net: &mut Net, x: &VarRef, by: f64) -> Result<Vec<VarRef>> {
    Ok(vec![net.scale(x, Scale::by(by))?])
}

fn written(net: &mut Net, x: &VarRef) -> Result<VarRef> {
    let zero = net.zeros([1], DType::I64)?;
    net.array_write(x, &zero)
}

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "cond(less_than(one,one),lambda:scale(one,2.0),lambda:scale(one,3.0))" [one] |net| {
            let pred = net.less_than(&one, &one, Compare::new())?;
            net.cond(&pred, |net| scaled(net, &one, 2.0), |net| scaled(net, &one, 3.0))
        };
        "case([(less_than(one,one),lambda:scale(one,2.0))],default=lambda:scale(one,3.0))" [one] |net| {
            let pred = net.less_than(&one, &one, Compare::new())?;
            let twice: Branch<'_> = Box::new(|net| scaled(net, &one, 2.0));
            net.case(vec![(pred, twice)], Some(Box::new(|net| scaled(net, &one, 3.0))))
        };
        "switch_case(fill_constant([1],'int32',1),{1:lambda:scale(one,2.0),2:lambda:scale(one,3.0)})" [one] |net| {
            let index = net.fill_constant([1], DType::I32, 1.0)?;
            let twice: Branch<'_> = Box::new(|net| scaled(net, &one, 2.0));
            let thrice: Branch<'_> = Box::new(|net| scaled(net, &one, 3.0));
            net.switch_case(&index, vec![(1, twice), (2, thrice)], None)
        };
        "while_loop(lambda a:less_than(a,one),lambda a:[scale(a,2.0)],[fill_constant([1],'float32',1.0)])" [one] |net| {
            let a = net.fill_constant([1], DType::F32, 1.0)?;
            net.while_loop(
                |net, vars| net.less_than(&vars[0], &one, Compare::new()),
                |net, vars| scaled(net, &vars[0], 2.0),
                &[a],
            )
        };
        "array_write(x,zeros([1],'int64'))" [x] |net| written(net, &x);
        "array_read(array_write(x,zeros([1],'int64')),zeros([1],'int64'))" [x] |net| {
            let array = written(net, &x)?;
            let zero = net.zeros([1], DType::I64)?;
            net.array_read(&array, &zero)
        };
        "array_length(array_write(x,zeros([1],'int64')))" [x] |net| {
            let array = written(net, &x)?;
            net.array_length(&array)
        };
        "create_array('float32')" [] |net| Ok(net.create_array(DType::F32));
    }
}
