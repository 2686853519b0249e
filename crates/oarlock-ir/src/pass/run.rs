//! Running passes one after the other: the program is verified after each, and an observer sees it.

use crate::{Error, Kind, Program, Result, verify};

/// Sees the name of a pass and the program after it.
type Observer<'a> = &'a mut dyn FnMut(&str, &Program);

/// The passes of one compilation.
#[derive(Default)]
pub struct PassRun<'a> {
    verifies: bool,
    observer: Option<Observer<'a>>,
}

impl<'a> PassRun<'a> {
    /// Passes after which the program is verified, or not.
    pub fn new(verifies: bool) -> PassRun<'a> {
        PassRun { verifies, observer: None }
    }

    /// Shows `observer` the name of every pass and the program after it.
    pub fn observed_by(self, observer: &'a mut dyn FnMut(&str, &Program)) -> PassRun<'a> {
        PassRun { observer: Some(observer), ..self }
    }

    /// Runs a pass. If it breaks the program, the error names the pass.
    pub fn run(
        &mut self,
        name: &str,
        program: &mut Program,
        pass: impl FnOnce(&mut Program) -> Result<()>,
    ) -> Result<()> {
        pass(program)?;
        if self.verifies {
            verify(program, None).map_err(|e| blame(name, &e))?;
        }
        if let Some(observer) = &mut self.observer {
            observer(name, program);
        }
        Ok(())
    }
}

fn blame(pass: &str, e: &Error) -> Error {
    let report = e.report();
    let mut error = Error::new(Kind::Verify, format!("pass `{pass}` broke the program: {}", report.what));
    if let Some(place) = &report.place {
        error = error.at(|| place.clone());
    }
    error.help("this is a mistake of the pass, not of the network; please report it with this text")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        block 0 {
            var x: f32[?]
            var y: f32[?]
            y = relu(X: x) at "train.py:4 in net"
        }"#;

    fn drop_x(program: &mut Program) -> Result<()> {
        program.global_mut().vars.shift_remove("x");
        Ok(())
    }

    #[test]
    fn pass_that_breaks_the_program_is_named() {
        let mut program = Program::from_text(TEXT).unwrap();
        let mut passes = PassRun::new(true);
        passes.run("nothing", &mut program, |_| Ok(())).unwrap();
        let e = passes.run("drop_x", &mut program, drop_x).unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[verify]: pass `drop_x` broke the program: variable `x` is declared neither in block 0 nor around it\n  \
             at train.py:4 in net (`relu`, block 0, op 0)\n  \
             help: this is a mistake of the pass, not of the network; please report it with this text"
        );
    }

    #[test]
    fn observer_sees_the_program_after_each_pass() {
        let mut program = Program::from_text(TEXT).unwrap();
        let mut seen = Vec::new();
        let mut observer = |name: &str, program: &Program| seen.push((name.to_string(), program.global().vars.len()));
        let mut passes = PassRun::new(false).observed_by(&mut observer);
        passes.run("nothing", &mut program, |_| Ok(())).unwrap();
        passes.run("drop_x", &mut program, drop_x).unwrap();
        assert_eq!(seen, [("nothing".to_string(), 2), ("drop_x".to_string(), 1)]);
    }
}
