//! `print`: writes a tensor to standard output while the program runs, and passes it on.

use oarlock_ir::{AttrView, Grad, Infer, Kernel, OpDef, Prepare, Result, Traits, grad_name, kernel, sig};
use oarlock_tensor::{Element, Tensor, by_element};
use std::fmt::Write;

pub(crate) const OPS: &[&dyn OpDef] = &[&Print];

struct Print;

impl OpDef for Print {
    sig! {
        "print": "Out = In, and In is printed";
        in "In": "a tensor";
        out? "Out": "like `In`";
        attr "first_n": "the number of times to print; always if not positive";
        attr "message": "text to print first";
        attr "summarize": "how many elements to print; all if negative";
        attr "print_tensor_name": "print the variable's name";
        attr "print_tensor_type": "print the element type";
        attr "print_tensor_shape": "print the sizes";
        attr "print_tensor_lod": "print the LoD";
        attr "print_phase" = "BOTH", "FORWARD, BACKWARD or BOTH: the tensor, its gradient, or both";
        attr "is_forward" = true, "prints the tensor, not its gradient";
        traits Traits::NONE.in_place(&[("In", "Out")]).side_effect();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "In")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, style) = (p.input("In")?, p.maybe_output("Out")?, Style::new(p)?);
        let mut left = style.times;
        kernel(move |io| {
            if left > 0 {
                left -= 1;
                show(&style.text(&*io.dense(x)?));
            }
            match out {
                Some(out) if !out.is(x) => io.write(out)?.copy_from(&*io.value(x)?).map_err(|e| io.about(x.0, e)),
                _ => Ok(()),
            }
        })
    }

    // The gradient passes through another `print`, as in saved programs.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.op().clone();
        op.inputs.set("In", g.op().outputs.get("Out").iter().map(|n| grad_name(n)).collect());
        op.outputs.set("Out", g.input_grads("In"));
        op.attrs.set("is_forward", false);
        g.push(op)
    }
}

#[expect(clippy::print_stdout, reason = "printing is what the operator is for")]
fn show(text: &str) {
    print!("{text}");
}

/// The parts of a tensor to print.
struct Style {
    message: String,
    name: Option<String>,
    dtype: bool,
    shape: bool,
    lod: bool,
    /// Elements.
    summarize: usize,
    times: u64,
}

impl Style {
    fn new(p: &Prepare<'_>) -> Result<Style> {
        let attrs: AttrView<'_> = p.attrs();
        let name = p.op().inputs.get("In").first().map(|n| n.to_string());
        let wanted = if attrs.bool("is_forward")? { "FORWARD" } else { "BACKWARD" };
        let phase = attrs.str("print_phase")?.to_uppercase();
        let first_n = attrs.int("first_n")?;
        let times = if first_n > 0 { first_n as u64 } else { u64::MAX };
        Ok(Style {
            message: attrs.str("message")?.to_string(),
            name: name.filter(|_| attrs.flag("print_tensor_name")),
            dtype: attrs.bool("print_tensor_type")?,
            shape: attrs.bool("print_tensor_shape")?,
            lod: attrs.bool("print_tensor_lod")?,
            summarize: usize::try_from(attrs.int("summarize")?).unwrap_or(usize::MAX),
            times: if phase == "BOTH" || phase == wanted { times } else { 0 },
        })
    }

    fn text(&self, t: &Tensor) -> String {
        let mut text = String::new();
        let mut line = |s: std::fmt::Arguments<'_>| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{s}");
        };
        if !self.message.is_empty() {
            line(format_args!("{}", self.message));
        }
        line(format_args!("Tensor[{}]", self.name.as_deref().unwrap_or_default()));
        if self.shape {
            line(format_args!("\tshape: {}", t.dims()));
        }
        if self.dtype {
            line(format_args!("\tdtype: {}", t.dtype()));
        }
        if self.lod && !t.lod().is_empty() {
            line(format_args!("\tLoD: {:?}", t.lod()));
        }
        let elements: Vec<String> = by_element!(t.dtype(), T => elements::<T>(t, self.summarize));
        line(format_args!("\tdata: {}", elements.join(", ")));
        text
    }
}

/// The first elements as text.
fn elements<T: Element>(t: &Tensor, most: usize) -> Vec<String> {
    let text = |v: &T| match T::DTYPE {
        d if !d.is_float() => v.to_i64().to_string(),
        oarlock_tensor::DType::F64 => v.to_f64().to_string(),
        _ => (v.to_f64() as f32).to_string(),
    };
    t.data::<T>().unwrap_or_default().iter().take(most).map(text).collect()
}

#[test]
fn text_of_a_tensor() {
    use crate::testing::{tensor, with_lod};
    let style = Style {
        message: "hello".into(),
        name: Some("x".into()),
        dtype: true,
        shape: true,
        lod: true,
        summarize: 3,
        times: 1,
    };
    let t = with_lod(tensor([2, 2], &[0.1, 2.0, -3.5, 4.0]), &[&[0, 2]]);
    let expected = "hello\nTensor[x]\n\tshape: [2, 2]\n\tdtype: f32\n\tLoD: [[0, 2]]\n\tdata: 0.1, 2, -3.5\n";
    assert_eq!(style.text(&t), expected);
}

#[test]
fn passes_the_tensor_on() {
    use crate::testing::{check, noise};
    check("print")
        .attr("first_n", 1)
        .attr("message", "")
        .attr("summarize", 2)
        .attr("print_tensor_name", true)
        .attr("print_tensor_type", true)
        .attr("print_tensor_shape", true)
        .attr("print_tensor_lod", true)
        .input("In", noise([2], 1))
        .output("Out", noise([2], 1))
        .grad(&["In"])
        .run();
}
