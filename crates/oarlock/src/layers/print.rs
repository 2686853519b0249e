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
    /// Prints a variable whenever it is computed, and its gradient; returns it.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     first_n (int): the runs that print; -1 for all.
    ///     message (str): printed before the value.
    ///     summarize (int): elements to print; -1 for all.
    ///     print_tensor_name (bool): print the variable's name.
    ///     print_tensor_type (bool): print its element type.
    ///     print_tensor_shape (bool): print its sizes.
    ///     print_tensor_lod (bool): print its LoD.
    ///     print_phase (str): FORWARD for values, BACKWARD for gradients, BOTH.
    "control_flow.Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True, \
     print_tensor_type=True, print_tensor_shape=True, print_tensor_lod=True, print_phase='both')"
        => |net, a| net.print(&a.var("input")?, Print::new().first_n(a.i32("first_n")?).summarize(a.i32("summarize")?)
        .message(a.opt_str("message")?.unwrap_or_default()).print_tensor_name(a.bool("print_tensor_name")?)
        .print_tensor_type(a.bool("print_tensor_type")?).print_tensor_shape(a.bool("print_tensor_shape")?)
        .print_tensor_lod(a.bool("print_tensor_lod")?).print_phase(a.str("print_phase")?));
}
