//! Values printed while a program runs.

use oarlock_ir::{Op, Result};

use crate::declare::declare;
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True, print_tensor_type=True,
    /// print_tensor_shape=True, print_tensor_lod=True, print_phase='both')`
    Print::new() {
        /// The runs that print; -1 for all.
        first_n: i32 = -1,
        /// Printed before the value.
        message(into): String = String::new(),
        /// Elements to print; -1 for all.
        summarize: i32 = 20,
        /// Print the variable's name.
        print_tensor_name: bool = true,
        /// Print its element type.
        print_tensor_type: bool = true,
        /// Print its sizes.
        print_tensor_shape: bool = true,
        /// Print its LoD.
        print_tensor_lod: bool = true,
        /// FORWARD for values, BACKWARD for gradients, BOTH.
        print_phase(into): String = "BOTH".to_string(),
    }
}

impl Net {
    /// Prints a variable whenever it is computed, and its gradient; returns it.
    #[track_caller]
    pub fn print(&mut self, input: &VarRef, options: Print) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let op = Op::new("print")
            .input("In", [input])
            .attr("first_n", options.first_n)
            .attr("message", options.message.as_str())
            .attr("summarize", options.summarize)
            .attr("print_tensor_name", options.print_tensor_name)
            .attr("print_tensor_type", options.print_tensor_type)
            .attr("print_tensor_shape", options.print_tensor_shape)
            .attr("print_tensor_lod", options.print_tensor_lod)
            .attr("print_phase", options.print_phase.to_uppercase());
        self.layer(&format!("print_{}", input.name())).out(dtype, op)
    }
}

declare! {
    /// Prints a variable whenever it is computed, and its gradient, and returns it.
    ///
    /// The gradient is printed only if the rest of the network uses what the layer returns. It prints to the standard
    /// output of the process.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     first_n (int): the number of runs that print; -1: all.
    ///     message (str): printed before the value; ``None``: nothing.
    ///     summarize (int): the number of elements that are printed; -1: all.
    ///     print_tensor_name (bool): print the name of the variable.
    ///     print_tensor_type (bool): print the element type.
    ///     print_tensor_shape (bool): print the sizes.
    ///     print_tensor_lod (bool): print the LoD.
    ///     print_phase (str): ``forward``: the value; ``backward``: the gradient; ``both``.
    ///
    /// Returns:
    ///     Variable: ``input``, passed on.
    ///
    /// Example:
    ///     >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
    ///     >>> x = fluid.layers.Print(x, message="the value of x:", summarize=10)
    ///     >>> x.shape
    ///     (2,)
    "control_flow.Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True, \
     print_tensor_type=True, print_tensor_shape=True, print_tensor_lod=True, print_phase='both')"
        => |net, a| net.print(&a.var("input")?, Print::new().first_n(a.i32("first_n")?).summarize(a.i32("summarize")?)
        .message(a.opt_str("message")?.unwrap_or_default()).print_tensor_name(a.bool("print_tensor_name")?)
        .print_tensor_type(a.bool("print_tensor_type")?).print_tensor_shape(a.bool("print_tensor_shape")?)
        .print_tensor_lod(a.bool("print_tensor_lod")?).print_phase(a.str("print_phase")?));
}
