//! Hashed tables, and files that hold what servers hold.

use oarlock_exec::Scope;
use oarlock_ps::saving::{fetch_whole, load_parts};
use oarlock_testkit::{Tolerance, assert_close};
use oarlock_transpile::VarLocations;

use super::{Job, Trainer, hash_tables, ids_kept, quiet, small, sparse_feed, train_alone, trainer_options, wait_all};
use crate::programs::local;

#[test]
fn rows_of_a_hashed_table_are_trained_by_the_optimizer_of_the_program() {
    let (mut main, startup) = local("half_async");
    hash_tables(&mut main);
    let job = Job::of(main, startup, small(64), 2, 2);
    let servers = job.serve(&quiet());
    let trainers: Vec<Trainer> = (0..2).map(|t| job.join(t, trainer_options()).unwrap()).collect();
    let steps = |t: usize| {
        let trainer = &trainers[t];
        move || (0..4).for_each(|step| trainer.step(&sparse_feed(step, t * 4, 4)).unwrap())
    };
    std::thread::scope(|scope| {
        scope.spawn(steps(0));
        scope.spawn(steps(1));
    });
    trainers.iter().for_each(Trainer::leave);
    let (summaries, _) = wait_all(servers);
    assert!(summaries.iter().all(|s| s.steps == 4), "{summaries:?}");
}

/// An id has no row before it was looked up often enough, and then it has one.
#[test]
fn ids_below_the_admission_count_get_no_row() {
    let (mut main, startup) = local("half_async");
    hash_tables(&mut main);
    main.global_mut().ops.iter_mut().filter(|op| op.op_type.starts_with("lookup_table")).for_each(|op| {
        op.attrs.set("entry", "count_filter_entry:3".to_string());
    });
    let job = Job::of(main, startup, small(64), 1, 2);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    let feed = sparse_feed(0, 0, 8);
    for step in 0..4 {
        assert_eq!(ids_kept(&job, &trainer).is_empty(), step < 3, "before step {step}");
        trainer.step(&feed).unwrap();
    }
    let mut looked_up: Vec<i64> = feed[..2].iter().flat_map(|(_, ids)| ids.data::<i64>().unwrap().to_vec()).collect();
    looked_up.sort_unstable();
    looked_up.dedup();
    assert_eq!(ids_kept(&job, &trainer), looked_up);
    trainer.leave();
    wait_all(servers);
}

/// More ids than a table is declared for end in an error that names it.
#[test]
fn hashed_table_refuses_more_rows_than_declared() {
    let (mut main, startup) = local("half_async");
    hash_tables(&mut main);
    let job = Job::of(main, startup, small(64), 1, 2);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    let new_ids = |step: usize| {
        let mut feed = sparse_feed(0, 0, 8);
        for (slot, (_, ids)) in feed[..2].iter_mut().enumerate() {
            let ids = ids.data_mut::<i64>().unwrap().iter_mut().enumerate();
            ids.for_each(|(i, id)| *id = ((step * 2 + slot) * 8 + i) as i64);
        }
        feed
    };
    // Sixteen new ids in each step: 96 fit, and 112 are too many, wherever they are.
    (0..6).for_each(|step| trainer.step(&new_ids(step)).unwrap());
    let error = trainer.step(&new_ids(6)).unwrap_err();
    assert_eq!(error.report().what, "table `tab` was declared for 100 rows, and its 2 servers hold 112");
    trainer.leave();
    wait_all(servers);
}

/// Variables of servers are fetched whole, and a server finds its parts again in files of whole variables.
#[test]
fn variables_of_servers_are_saved_as_on_one_machine() {
    let job = Job::new("half_async", small(64), 1, 2);
    let servers = job.serve(&quiet());
    let trainer = job.join(0, trainer_options()).unwrap();
    (0..3).for_each(|step| trainer.step(&sparse_feed(step, 0, 8)).unwrap());
    let kept = job.transpiled(0).0.var_locations().unwrap();
    let all: Vec<&VarLocations> = kept.iter().collect();
    let whole = fetch_whole(&all, &trainer.client(), 0, &trainer.scope).unwrap();
    trainer.leave();
    let (_, scopes) = wait_all(servers);
    let alone = train_alone(&job, sparse_feed, 3);
    let folder = std::env::temp_dir().join(format!("oarlock-kept-{}", std::process::id()));
    let store = oarlock_io::Local::at(&folder);
    let vars = oarlock_io::persistables(&job.main);
    for var in &vars {
        let expected = alone.tensor(&var.name).unwrap();
        assert_close(&var.name, &whole.tensor(&var.name).unwrap(), &expected, Tolerance::new(1e-6, 1e-6));
    }
    oarlock_io::save_vars(&store, None, &vars, &whole).unwrap();
    for (server, scope) in scopes.iter().enumerate() {
        let loaded = Scope::new();
        assert!(load_parts(&store, None, &kept, server, None, &loaded).unwrap().is_empty());
        for name in loaded.names() {
            assert_eq!(loaded.tensor(&name), scope.tensor(&name), "{name}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
