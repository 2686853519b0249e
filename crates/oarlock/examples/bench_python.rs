//! The cost of Python: a step of CTR-DNN driven from Python beside one driven from Rust, `exe.run` of linear regression, and the
//! import. `OARLOCK_PYTHON` names a Python that has the wheel, `OARLOCK_PEER_FLUID` one that has Fluid 1.8; both run the same scripts.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::Peer;
use bench::ctr_dnn::{BATCH, Job};
use oarlock::prelude::*;

fn main() -> Result<()> {
    let python =
        |script| Peer::find("oarlock from Python", "OARLOCK_PYTHON", script).map(|peer| peer.under("oarlock.paddle"));
    ctr_dnn(python("ctr_dnn_fluid.py"))?;
    let fluid = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "fit_a_line_fluid.py");
    fit_a_line(python("fit_a_line_fluid.py"), fluid.as_ref());
    import(python("fit_a_line_fluid.py"), fluid.as_ref());
    Ok(())
}

fn ctr_dnn(python: Option<Peer>) -> Result<()> {
    let Some(python) = python else { return Ok(()) };
    for optimizer in ["sgd", "adam"] {
        println!("\nCTR-DNN, {optimizer}, batch {BATCH}, one thread (samples/s)");
        let mut job = Job::new(optimizer)?;
        let mut rust = job.measure()?;
        let mut driven = None;
        for _ in 0..3 {
            // In turn, so that a slow spell of the machine hits both.
            let Some((rates, _)) = python.run(&[optimizer]) else { return Ok(()) };
            rust = rust.join(job.measure()?);
            driven = Some(match driven.take() {
                None => rates,
                Some(earlier) => bench::Rates::join(earlier, rates),
            });
        }
        let Some(driven) = driven else { return Ok(()) };
        println!("  {:<20} {}\n  {:<20} {}", "from Rust", rust.show(), "from Python", driven.show());
        println!("  from Python {:+.1} % (goal: at least -5 %)", 100.0 * (driven.median() / rust.median() - 1.0));
    }
    Ok(())
}

fn fit_a_line(python: Option<Peer>, fluid: Option<&Peer>) {
    println!("\nfit_a_line, batch 20, exe.run with a fetch (steps/s)");
    let Some((ours, _)) = python.and_then(|peer| peer.run(&[])) else { return };
    println!("  {:<20} {}", "oarlock from Python", ours.show());
    let Some((theirs, _)) = fluid.and_then(|peer| peer.run(&[])) else { return };
    println!("  {:<20} {}", "fluid 1.8", theirs.show());
    println!("  {:.1}x (goal 5x)", ours.median() / theirs.median());
}

fn import(python: Option<Peer>, fluid: Option<&Peer>) {
    println!("\nimport (seconds)");
    let Some(ours) = python.and_then(|peer| peer.import_seconds("oarlock.fluid")) else { return };
    println!("  {:<20} {ours:.3}", "oarlock.fluid");
    let Some(theirs) = fluid.and_then(|peer| peer.import_seconds("paddle.fluid")) else { return };
    println!("  {:<20} {theirs:.3}\n  {:.2} of it (goal 0.25)", "paddle.fluid", ours / theirs);
}
