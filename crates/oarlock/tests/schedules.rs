//! Learning-rate schedules with parameter servers: every schedule, optimizer, weight decay, limit, mode and kind of table.
//!
//! Training with servers in sync, and with one trainer in every mode, gives the same as one process, step by step: losses, the rate
//! of every step, parameters, optimizer state and counters. An ordinary run covers every pair of properties; with
//! `OARLOCK_SOAK` every combination is run.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a soak runs every case; how many ran is worth a line; a wait for a server has a deadline"
)]

mod all_pairs;
mod case;
mod cluster;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use all_pairs::all_pairs;
use case::{AXES, Case};
use cluster::{How, Part, STEPS, alone, part, together};

/// The result of a case.
enum Outcome {
    /// Trained as one process does.
    Trained,
    /// Refused, in these words.
    Refused(&'static str),
}

fn check(case: &Case) -> Result<Outcome, String> {
    let refused = |e: oarlock::Error| match case.refusal() {
        Some(why) if e.report().what.contains(why) => Ok(Outcome::Refused(why)),
        _ => Err(e.to_string()),
    };
    let model = match case.model() {
        Ok(model) => model,
        Err(e) => return refused(e),
    };
    let found = match together(case, &model) {
        Ok(found) => found,
        Err(e) => return refused(e),
    };
    if let Some(why) = case.refusal() {
        return Err(format!("was not refused: {why}"));
    }
    // Rates do not depend on the table: where one process refuses to decay it, they are those of a table that is a tensor.
    let twin = if case.is_refused_alone() { case.with_a_tensor() } else { *case };
    let expected = twin.model().and_then(|model| alone(&twin, &model)).map_err(|e| format!("alone: {e}"))?;
    found.compare(&expected, case, 0..STEPS).map(|()| Outcome::Trained)
}

/// Runs several cases at a time, because each waits for its processes; returns how many were trained and how often which refusal
/// came.
fn run(cases: &[Case]) -> (usize, BTreeMap<&'static str, usize>) {
    let (next, trained) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (refused, failed) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            match check(case) {
                Ok(Outcome::Trained) => drop(trained.fetch_add(1, Ordering::Relaxed)),
                Ok(Outcome::Refused(why)) => *refused.lock().unwrap().entry(why).or_insert(0) += 1,
                Err(why) => failed.lock().unwrap().push(format!("{case}: {why}")),
            }
        }
    };
    std::thread::scope(|threads| (0..8).for_each(|_| drop(threads.spawn(work))));
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
    (trained.into_inner(), refused.into_inner().unwrap())
}

#[test]
fn servers_train_with_every_schedule_as_one_process_does() {
    let soak = std::env::var_os("OARLOCK_SOAK").is_some();
    let choices =
        if soak { all_pairs::product(&AXES) } else { all_pairs(&AXES, |choice| Case::of(choice).refusal().is_none()) };
    let cases: Vec<Case> = choices.iter().map(|choice| Case::of(choice)).collect();
    let (trained, refused) = run(&cases);
    println!("{} cases: {trained} trained, refused: {refused:?}", cases.len());
    assert!(soak || refused.is_empty(), "{refused:?}");
}

/// Whatever cannot be is refused before anything is started, in words that say why.
#[test]
fn what_cannot_be_trained_on_servers_is_refused_before_it_starts() {
    let choices = all_pairs(&AXES, |choice| Case::of(choice).refusal().is_some());
    let cases: Vec<Case> = choices.iter().map(|choice| Case::of(choice)).collect();
    let (trained, refused) = run(&cases);
    println!("{} cases refused: {refused:?}", cases.len());
    assert_eq!((trained, refused.len()), (0, 3), "{refused:?}");
}

/// The rate of a job that goes on from a save is that of a job that was never interrupted, whatever its mode and however it was
/// saved.
#[test]
fn a_job_that_goes_on_has_the_rate_of_one_that_never_stopped() {
    let mut cases = Vec::new();
    for case in Case::to_resume() {
        let model = case.model().unwrap();
        let expected = alone(&case, &model).unwrap();
        for how in [How::Persistables, How::Checkpoint] {
            // With GEO rate and counter are with the trainers, and servers load for themselves alone.
            if how == How::Persistables && case.is_geo() {
                continue;
            }
            let name = format!("oarlock-schedules-{}-{}", std::process::id(), cases.len());
            let dir = std::env::temp_dir().join(name);
            let path = dir.to_str().unwrap().to_string();
            let first = Part { steps: 0..2, load: None, save: Some((how, path.clone())) };
            let then = Part { steps: 2..STEPS, load: Some((how, path)), save: None };
            part(&case, &model, &first).unwrap_or_else(|e| panic!("{case} {how:?}: {e}"));
            let found = part(&case, &model, &then).unwrap_or_else(|e| panic!("{case} {how:?}: {e}"));
            std::fs::remove_dir_all(&dir).unwrap();
            // Servers of GEO may lack the last steps of a trainer when they are saved.
            let compared = match case.is_geo() {
                true => found.compare_rates(&expected, &case, 2..STEPS),
                false => found.compare(&expected, &case, 2..STEPS),
            };
            cases.push((case, compared));
        }
    }
    let failed: Vec<String> =
        cases.iter().filter_map(|(case, found)| Some(format!("{case}: {}", found.as_ref().err()?))).collect();
    println!("{} jobs went on", cases.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
