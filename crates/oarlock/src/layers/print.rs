//! Values printed while a program runs.

use oarlock_ir::{Op, Result};

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
