//! Trainers that are lost, and those that rejoin.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oarlock_exec::Scope;
use oarlock_ir::{Attr, Program};
use oarlock_ps::saving::fetch_whole;
use oarlock_ps::server::Policy;
use oarlock_tensor::Value;
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::{Config, VarLocations};

use super::{
    Job, Trainer, dense_feed, executor, hash_tables, ids_kept, quiet, small, sparse_feed, train_alone, trainer_options,
    wait_all, with_policy,
};
use crate::programs::local;

#[test]
fn lost_trainer_fails_the_job_and_is_named() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Fail));
    let [first, second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    std::thread::scope(|scope| {
        let step = scope.spawn(|| first.step(&dense_feed(8, 0, 0, 4)));
        second.step(&dense_feed(8, 0, 4, 4)).unwrap();
        step.join().unwrap().unwrap();
    });
    second.die();
    // The servers give up long before a request of 30 s would.
    let error = first.step(&dense_feed(8, 1, 0, 4)).unwrap_err();
    assert_eq!(error.report().what, "trainer 1 was lost in step 2, and the job cannot go on without it");
    // A server stays until the other trainers received the error.
    first.die();
    for (server, _) in servers {
        assert!(server.wait(|| false).unwrap_err().report().what.starts_with("trainer 1 was lost in step 2"));
    }
}

/// A trainer that ends in a panic has not left: the others do not go on as if it had no more data.
#[test]
fn trainer_that_panics_is_lost() {
    let job = Job::new("dc_asgd", small(64), 1, 1);
    let servers = job.serve(&with_policy(Policy::Fail));
    let trainer = job.join(0, trainer_options()).unwrap();
    let ended = std::thread::spawn(move || {
        trainer.step(&dense_feed(8, 0, 0, 8)).unwrap();
        panic!("on purpose");
    });
    assert!(ended.join().is_err());
    let error = servers.into_iter().next().unwrap().0.wait(|| false).unwrap_err();
    assert_eq!(error.report().what, "trainer 0 was lost in step 2, and the job cannot go on without it");
}

/// A process that was taken for lost and replaced may wake up again: it changes nothing any more.
#[test]
fn requests_of_a_replaced_process_are_refused() {
    let job = Job::new("dc_asgd", Config { sync_mode: false, ..small(64) }, 1, 1);
    let servers = job.serve(&quiet());
    let older = job.join(0, trainer_options()).unwrap();
    older.step(&dense_feed(8, 0, 0, 8)).unwrap();
    let newer = job.join(0, trainer_options()).unwrap();
    let error = older.step(&dense_feed(8, 1, 0, 8)).unwrap_err();
    assert!(error.report().what.contains("another process took over the number of this trainer"), "{error}");
    older.die();
    newer.step(&dense_feed(8, 1, 0, 8)).unwrap();
    newer.leave();
    let (summaries, _) = wait_all(servers);
    assert_eq!(summaries[0].pushes, 2);
}

#[test]
fn other_trainers_go_on_without_a_lost_one_under_policy_shrink() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Shrink));
    let [first, second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    second.die();
    // Its gradients are the mean now: the same as of one process.
    (0..3).for_each(|step| first.step(&dense_feed(8, step, 0, 8)).unwrap());
    first.leave();
    let (_, scopes) = wait_all(servers);
    let alone = train_alone(&job, |s, f, c| dense_feed(8, s, f, c), 3);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-6, 1e-6));
    }
}

/// One that rejoins takes part again, from the same step on at all servers.
#[test]
fn lost_trainer_rejoins_at_the_same_step_on_all_servers() {
    let job = Job::new("dc_asgd", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Shrink));
    let [first, second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let (steps, made) = (400, std::sync::atomic::AtomicUsize::new(0));
    let came_back = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            for step in 0..steps {
                first.step(&dense_feed(8, step % 5, 0, 4)).unwrap();
                made.store(step + 1, Ordering::Release);
                std::thread::sleep(Duration::from_millis(1));
            }
            first.leave();
        });
        (0..2).for_each(|step| second.step(&dense_feed(8, step, 4, 4)).unwrap());
        second.die();
        // They stop at the next step until they notice that it is gone.
        for _ in 0..1000 {
            if made.load(Ordering::Acquire) > 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let second = job.join(1, trainer_options()).unwrap();
        let done = second.client().done() as usize;
        (done..steps).for_each(|step| second.step(&dense_feed(8, step % 5, 4, 4)).unwrap());
        second.leave();
        others.join().unwrap();
        done
    });
    assert!(2 < came_back && came_back < steps, "{came_back}");
    let (summaries, scopes) = wait_all(servers);
    assert!(summaries.iter().all(|s| s.steps == steps as u64), "{summaries:?}");
    // One process whose batches are those of all that took part.
    let (executor, scope) = (executor(), Scope::new());
    executor.run(&job.startup, &[], &[], &scope).unwrap();
    let alone = Trainer { executor, scope, program: job.main.clone() };
    for step in 0..steps {
        let rows = if (2..came_back).contains(&step) { 4 } else { 8 };
        alone.step(&dense_feed(8, step % 5, 0, rows)).unwrap();
    }
    for param in job.params() {
        let expected = alone.scope.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-4, 1e-5));
    }
}

/// A trainer is killed in every step, rejoins under its number, and repeats the step: nothing shows in the result.
#[test]
fn killed_trainer_repeats_its_step_under_policy_wait() {
    let job = Job::new("half_async", small(64), 2, 2);
    let servers = job.serve(&with_policy(Policy::Wait));
    let steps = 4;
    std::thread::scope(|scope| {
        let first = job.join(0, trainer_options()).unwrap();
        scope.spawn(move || {
            (0..steps).for_each(|step| first.step(&sparse_feed(step, 0, 4)).unwrap());
            first.leave();
        });
        let mut second = job.join(1, trainer_options()).unwrap();
        for step in 0..steps {
            second.step(&sparse_feed(step, 4, 4)).unwrap();
            if step + 1 < steps {
                second.die();
                second = job.join(1, trainer_options()).unwrap();
                assert_eq!(second.client().done(), step as u64 + 1);
            }
        }
        second.leave();
    });
    let (_, scopes) = wait_all(servers);
    let alone = train_alone(&job, sparse_feed, steps);
    for param in job.params() {
        let expected = alone.tensor(&param).expect("trained");
        assert_close(&param, &job.joined(&scopes, &param), &expected, Tolerance::new(1e-6, 1e-6));
    }
}

/// The same with hashed tables, of which some rows expire: they are those of trainers that never died.
#[test]
fn killed_trainer_repeats_its_step_with_rows_that_are_evicted() {
    let job = || {
        let (mut main, startup) = local("half_async");
        hash_tables(&mut main);
        main.global_mut().ops.iter_mut().filter(|op| op.op_type.starts_with("lookup_table")).for_each(|op| {
            op.attrs.set("evict", "unseen=2".to_string());
        });
        Job::of(main, startup, small(64), 2, 2)
    };
    let steps = 5;
    let kept = |dies: bool| {
        let job = job();
        let servers = job.serve(&with_policy(Policy::Wait));
        let ids = std::thread::scope(|scope| {
            let first = job.join(0, trainer_options()).unwrap();
            let job = &job;
            let other = scope.spawn(move || {
                let mut second = job.join(1, trainer_options()).unwrap();
                for step in 0..steps {
                    second.step(&sparse_feed(step, 4, 4)).unwrap();
                    if dies && step + 1 < steps {
                        second.die();
                        second = job.join(1, trainer_options()).unwrap();
                        assert_eq!(second.client().done(), step as u64 + 1);
                    }
                }
                second.leave();
            });
            (0..steps).for_each(|step| first.step(&sparse_feed(step, 0, 4)).unwrap());
            other.join().unwrap();
            let ids = ids_kept(job, &first);
            first.leave();
            ids
        });
        wait_all(servers);
        ids
    };
    let (disturbed, undisturbed) = (kept(true), kept(false));
    assert_eq!(disturbed, undisturbed);
    let seen = |steps: std::ops::Range<usize>| -> Vec<i64> {
        let feeds = steps.flat_map(|step| sparse_feed(step, 0, 8));
        feeds
            .filter(|(name, _)| *name != "y")
            .filter_map(|(_, t)| t.data::<i64>().ok().map(<[i64]>::to_vec))
            .flatten()
            .collect()
    };
    let (late, all) = (seen(3..steps), seen(0..steps));
    assert!(undisturbed.iter().all(|id| late.contains(id)), "{undisturbed:?} of {late:?}");
    assert!(all.iter().any(|id| !undisturbed.contains(id)), "some went");
}

/// All that servers keep, by name: ids (none of dense variables) and numbers.
fn everything(job: &Job, trainer: &Trainer) -> BTreeMap<String, Vec<(i64, Vec<f64>)>> {
    let kept = job.transpiled(0).0.var_locations().unwrap();
    let whole =
        fetch_whole(&kept.iter().collect::<Vec<&VarLocations>>(), &trainer.client(), 0, &trainer.scope).unwrap();
    let value = |name: String| {
        let var = whole.find(&name).expect("fetched");
        let mut rows = match &*var.read() {
            Value::Rows(rows) => {
                let (width, numbers) = (rows.value.dims().matrix(1).1, rows.value.to_f64());
                rows.rows.iter().zip(numbers.chunks(width)).map(|(id, row)| (*id, row.to_vec())).collect::<Vec<_>>()
            }
            other => vec![(0, other.dense().unwrap().to_f64())],
        };
        rows.sort_by_key(|(id, _)| *id);
        (name, rows)
    };
    kept.iter().map(|k| value(k.var.name.to_string())).collect()
}

/// The trainer's program, but the second server misses variables, and refuses what it gets.
fn send_too_little_to(second: &str, program: &mut Program) {
    for op in program.global_mut().ops.iter_mut().filter(|op| op.op_type == "send") {
        let Some(Attr::Strings(endpoints)) = op.attrs.get("epmap").cloned() else { continue };
        let is_first = |at: &usize| endpoints[*at] != second;
        let kept: Vec<usize> = (0..endpoints.len()).filter(is_first).collect();
        let inputs = op.inputs.get("X").to_vec();
        // The rows of a hashed table go to both by their ids.
        if inputs.len() != endpoints.len() {
            continue;
        }
        op.inputs.set("X", kept.iter().map(|at| inputs[*at].clone()).collect::<Vec<_>>());
        op.attrs.set("epmap", kept.iter().map(|at| endpoints[*at].clone()).collect::<Vec<String>>());
    }
    program.global_mut().ops.retain(|op| op.op_type != "send" || !op.inputs.get("X").is_empty());
}

/// Four steps of two trainers. If asked for, the second one is lost in the third step, which only one of the servers can make; it
/// rejoins and repeats it.
fn four_steps(job: &Job, lost: bool) -> BTreeMap<String, Vec<(i64, Vec<f64>)>> {
    let servers = job.serve(&with_policy(Policy::Wait));
    let [first, mut second] = [0, 1].map(|t| job.join(t, trainer_options()).unwrap());
    let kept = std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            (0..4).for_each(|step| first.step(&sparse_feed(step, 0, 4)).unwrap());
            first
        });
        for step in 0..4 {
            if lost && step == 2 {
                send_too_little_to(job.endpoints().nth(1).unwrap(), &mut second.program);
                let error = second.step(&sparse_feed(step, 4, 4)).unwrap_err();
                assert!(error.report().what.contains("the push of trainer 1 lacks"), "{error}");
                second.die();
                second = job.join(1, trainer_options()).unwrap();
                assert_eq!(second.client().done(), 2);
            }
            second.step(&sparse_feed(step, 4, 4)).unwrap();
        }
        let first = first.join().unwrap();
        let kept = everything(job, &first);
        first.leave();
        second.leave();
        kept
    });
    wait_all(servers);
    kept
}

#[test]
fn step_made_by_one_server_is_repeated_from_pre_images() {
    // `adam` changes all rows of a table that is partitioned, and of one that is hashed those that a gradient names.
    for (hashed, adam) in [(false, false), (true, false), (false, true)] {
        let (mut main, startup) = local(if adam { "sync_full" } else { "half_async" });
        if hashed {
            hash_tables(&mut main);
        }
        let job = |startup: &Program| Job::of(main.clone(), startup.clone(), small(64), 2, 2);
        let undisturbed = four_steps(&job(&startup), false);
        assert!(four_steps(&job(&startup), true) == undisturbed, "hashed: {hashed}, adam: {adam}");
    }
}
