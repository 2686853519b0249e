//! `slice`: a part of a tensor, from starts to ends along some axes.

use oarlock_ir::OpDef;

use crate::slicing::ranges::{Window, WindowGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&SLICE, &WindowGrad(&SLICE)];

static SLICE: Window =
    Window { types: ["slice", "slice_grad"], doc: "Out = Input[starts : ends] along `axes`", strided: false };

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn slice(axes: &[i32], starts: &[i32], ends: &[i32]) -> Check {
        check("slice").attr("axes", axes.to_vec()).attr("starts", starts.to_vec()).attr("ends", ends.to_vec())
    }

    #[test]
    fn parts() {
        let x = || with_lod(tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 1, 2]]);
        let columns = with_lod(tensor([2, 2], &[2.0, 3.0, 5.0, 6.0]), &[&[0, 1, 2]]);
        slice(&[1], &[-2], &[100]).input("Input", x()).output("Out", columns).grad(&["Input"]).run();
        let one = slice(&[0, 1], &[1, 0], &[2, 1]).input("Input", x()).attr("decrease_axis", vec![0, 1]);
        one.output("Out", tensor([1], &[4.0])).grad(&["Input"]).run();
    }

    #[test]
    fn starts_from_tensors() {
        let start = || vec![tensor_of::<i32>([1], &[1])];
        slice(&[1], &[-1], &[3])
            .input("Input", tensor_of::<i64>([1, 3], &[1, 2, 3]))
            .inputs("StartsTensorList", start())
            .attr("infer_flags", vec![-1])
            .output("Out", tensor_of::<i64>([1, 2], &[2, 3]))
            .run();
    }

    #[test]
    fn the_last_one_by_a_variable_index() {
        let number = |v: i32| vec![tensor_of::<i32>([1], &[v])];
        slice(&[1], &[-1], &[-1])
            .input("Input", tensor_of::<i64>([1, 3], &[1, 2, 3]))
            .inputs("StartsTensorList", number(-1))
            .inputs("EndsTensorList", number(0))
            .attr("infer_flags", vec![-1])
            .attr("decrease_axis", vec![1])
            .output("Out", tensor_of::<i64>([1], &[3]))
            .run();
    }

    #[test]
    fn nothing_is_left() {
        assert_eq!(
            slice(&[0], &[2], &[1]).input("Input", noise([3], 1)).any_output("Out").error(),
            "error[shape]: `slice` of `Input` = Input.0 f32[3] along axis 0 from 2 to 1 has no elements\n  \
             at (`slice`, block 0, op 0)\n  help: `ends` must be beyond `starts`, in the direction of the step"
        );
    }
}
