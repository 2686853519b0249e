//! The table against a naive model, and each of its promises.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::rng::{Engine, Mt19937x64, uniform_int};

fn spec(width: usize, state: &[usize]) -> Spec {
    Spec {
        name: "emb".into(),
        width,
        state: state.iter().map(|&width| State { width, initial: 0.25 }).collect(),
        init: RowInit::Uniform { min: -1.0, max: 1.0 },
        seed: 7,
        max_rows: None,
        admission: Admission::Always,
        retention: Retention::default(),
        history: 16,
    }
}

fn table(width: usize, state: &[usize]) -> HashedTable {
    HashedTable::new(spec(width, state)).unwrap()
}

type Row = (Header, Vec<f32>, Vec<f32>);
type Rows = BTreeMap<i64, Row>;

fn rows(table: &HashedTable) -> Rows {
    let mut all = Rows::new();
    for shard in 0..SHARDS {
        table
            .for_each_row(shard, |id, header, weights, state| {
                assert_eq!(shard_of(id), shard);
                assert!(all.insert(id, (header, weights.to_vec(), state.to_vec())).is_none(), "{id} is there twice");
            })
            .unwrap();
    }
    assert_eq!(all.len() as u64, table.len());
    all
}

fn snapshot_rows(table: &HashedTable) -> Rows {
    let mut all = Rows::new();
    for shard in 0..SHARDS {
        let visit = |id, header, weights: &[f32], state: &[f32]| {
            assert!(all.insert(id, (header, weights.to_vec(), state.to_vec())).is_none(), "{id} is there twice");
        };
        table.snapshot_shard(shard, visit).unwrap();
    }
    all
}

fn read(table: &HashedTable, ids: &[i64], missing: Missing) -> Vec<f32> {
    let mut out = vec![f32::NAN; ids.len() * table.spec().width];
    table.read(ids, &mut out, missing).unwrap();
    out
}

/// Ids that collide now and then: few, negative, extreme.
fn some_ids(engine: &mut Mt19937x64, most: u64) -> Vec<i64> {
    let n = uniform_int(engine, 0, most);
    let mut ids: Vec<i64> = (0..n)
        .map(|_| match uniform_int(engine, 0, 20) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => engine.draw() as i64 % 50 * 1_000_000_007,
            _ => uniform_int(engine, 0, 600) as i64 - 300,
        })
        .collect();
    ids.sort_unstable();
    ids.dedup();
    crate::rng::shuffle(&mut ids, engine);
    ids
}

/// The table as a map, with the same initial rows.
struct Model {
    initial: Initial,
    spec: Spec,
    clock: u32,
    rows: Rows,
}

impl Model {
    fn new(spec: Spec) -> Model {
        Model { initial: Initial::new(&spec), spec, clock: 0, rows: Rows::new() }
    }

    fn start(&self, id: i64) -> Row {
        let mut weights = vec![0.0; self.spec.width];
        self.initial.weights(id, &mut weights);
        (Header { last: self.clock, ..Header::default() }, weights, self.initial.state.clone())
    }

    fn row(&mut self, id: i64) -> &mut Row {
        let start = self.start(id);
        self.rows.entry(id).or_insert(start)
    }

    fn update(&mut self, id: i64, now: u32) -> &mut Row {
        let row = self.row(id);
        row.0 = Header { last: now, count: row.0.count + 1, ..Header::default() };
        row
    }
}

/// One random operation on both.
fn step(engine: &mut Mt19937x64, pool: &Pool, table: &HashedTable, model: &mut Model, now: u32) {
    let width = model.spec.width;
    let ids = some_ids(engine, if now.is_multiple_of(50) { 5000 } else { 60 });
    let values: Vec<f32> = (0..ids.len() * 6).map(|_| (engine.draw() % 100) as f32).collect();
    match uniform_int(engine, 0, 7) {
        0 => {
            let expected: Vec<f32> = ids.iter().flat_map(|&id| model.row(id).1.clone()).collect();
            let mut out = vec![f32::NAN; expected.len()];
            table.read_on(pool, &ids, &mut out, Missing::Create).unwrap();
            assert_eq!(out, expected);
        }
        1 => {
            let zeros = vec![0.0; width];
            let expected: Vec<f32> =
                ids.iter().flat_map(|id| model.rows.get(id).map_or(zeros.clone(), |row| row.1.clone())).collect();
            assert_eq!(read(table, &ids, Missing::Zero), expected);
        }
        2 => {
            model.clock = now;
            for (i, &id) in ids.iter().enumerate() {
                let row = model.update(id, now);
                row.1[0] += i as f32;
                row.2[1] -= 1.0;
            }
            let f = |at: usize, weights: &mut [f32], state: &mut [f32]| {
                weights[0] += at as f32;
                state[1] -= 1.0;
            };
            table.update_on(pool, &ids, now, f).unwrap();
        }
        3 => {
            model.clock = now;
            for (i, &id) in ids.iter().enumerate() {
                model.update(id, now).1.iter_mut().zip(&values[i * width..]).for_each(|(w, v)| *w += v);
            }
            table.add_on(pool, &ids, now, &values[..ids.len() * width]).unwrap();
        }
        4 => {
            // States of two and one elements: weights, then each state for all rows.
            let n = ids.len();
            let (mut weights, mut state) = (vec![0.0; n * width], vec![0.0; n * 3]);
            let rows: Vec<_> = ids.iter().map(|&id| model.row(id).clone()).collect();
            table.take_on(pool, &ids, &mut weights, &mut state).unwrap();
            assert_eq!(weights, rows.iter().flat_map(|r| r.1.clone()).collect::<Vec<_>>());
            assert_eq!(state[..2 * n], rows.iter().flat_map(|r| r.2[..2].to_vec()).collect::<Vec<_>>());
            assert_eq!(state[2 * n..], rows.iter().map(|r| r.2[2]).collect::<Vec<_>>());
        }
        5 => {
            model.clock = now;
            let n = ids.len();
            for (i, &id) in ids.iter().enumerate() {
                let row = model.update(id, now);
                row.1.copy_from_slice(&values[i * width..][..width]);
                row.2 = vec![values[2 * i], values[2 * i + 1], values[2 * n + i]];
            }
            table.put_on(pool, &ids, now, &values[..n * width], &values[..n * 3]).unwrap();
        }
        6 if now.is_multiple_of(4) => {
            let before = model.rows.len();
            model.rows.retain(|_, row| row.0.last + 40 >= now);
            assert_eq!(table.evict(Evict::UnseenSince(now.saturating_sub(40))), (before - model.rows.len()) as u64);
        }
        _ => {
            for (i, &id) in ids.iter().enumerate() {
                let header = Header { last: model.clock, count: i as u32, ..Header::default() };
                let (weights, state) = (&values[i..][..width], &values[i..][..3]);
                model.rows.insert(id, (header, weights.to_vec(), state.to_vec()));
                table.insert(id, header, weights, state).unwrap();
            }
        }
    }
}

fn table_and_model(seed: u64) -> (HashedTable, Model, Mt19937x64) {
    let spec = spec(3, &[2, 1]);
    (HashedTable::new(spec.clone()).unwrap(), Model::new(spec), Mt19937x64::new(seed))
}

#[test]
fn a_table_behaves_like_a_map() {
    for seed in 0..6 {
        let (table, mut model, mut engine) = table_and_model(seed);
        let pool = Pool::new(1 + seed as usize % 3);
        for now in 1..150 {
            step(&mut engine, &pool, &table, &mut model, now);
            if now % 10 == 0 {
                assert_eq!(rows(&table), model.rows, "seed {seed}, step {now}");
            }
        }
    }
}

#[test]
fn snapshots_and_rollback_keep_the_table_as_it_was() {
    for seed in 0..6 {
        let (table, mut model, mut engine) = table_and_model(seed);
        let pool = Pool::new(1);
        let mut now = 0;
        let mut steps = |n, model: &mut Model| {
            (0..n).for_each(|_| {
                now += 1;
                step(&mut engine, &pool, &table, model, now);
            });
        };
        for turn in 0..12 {
            steps(10, &mut model);
            table.begin_snapshot(turn).unwrap();
            let fence = model.rows.clone();
            steps(3, &mut model);
            table.begin_step();
            let (before, clock) = (model.rows.clone(), model.clock);
            steps(5, &mut model);
            let ids: Vec<i64> = before.keys().chain(model.rows.keys()).copied().collect();
            let mut old = vec![0.0; ids.len() * 3];
            table.read_before_step(&ids, &mut old).unwrap();
            let expected = |id: &i64| before.get(id).map_or_else(|| model.start(*id).1, |row| row.1.clone());
            assert_eq!(old, ids.iter().flat_map(expected).collect::<Vec<f32>>());
            if turn % 3 == 0 {
                table.commit_step();
                table.rollback_step();
                assert_eq!(rows(&table), model.rows);
            } else {
                table.rollback_step();
                assert_eq!(rows(&table), before, "seed {seed}, turn {turn}");
                model.rows = before;
                // Time is not taken back: rows made by readings are as old as the last update.
                assert!(model.clock >= clock);
            }
            steps(3, &mut model);
            assert_eq!(snapshot_rows(&table), fence, "seed {seed}, turn {turn}");
            table.end_snapshot();
        }
    }
}

#[test]
fn every_number_is_an_id() {
    let table = table(2, &[]);
    let ids = [0, -1, 1, i64::MIN, i64::MAX, 0xffff_ffff, -0x1_0000_0000];
    table.add(&ids, 1, &[1.0; 14]).unwrap();
    table.add(&ids, 2, &[1.0; 14]).unwrap();
    let start = read(&self::table(2, &[]), &ids, Missing::Create);
    let expected: Vec<f32> = start.iter().map(|v| v + 1.0 + 1.0).collect();
    assert_eq!(read(&table, &ids, Missing::Zero), expected);
    assert_eq!(table.len(), 7);
}

#[test]
fn new_rows_depend_on_seed_name_and_id_alone() {
    let ids: Vec<i64> = (0..500).collect();
    let backwards: Vec<i64> = ids.iter().rev().copied().collect();
    let (a, b) = (table(4, &[]), table(4, &[2]));
    let first = read(&a, &ids, Missing::Create);
    read(&b, &backwards, Missing::Create);
    assert_eq!(first, read(&b, &ids, Missing::Zero));
    let other = |change: fn(&mut Spec)| {
        let mut spec = spec(4, &[]);
        change(&mut spec);
        read(&HashedTable::new(spec).unwrap(), &ids, Missing::Create)
    };
    assert_eq!(first, other(|_| {}));
    assert_ne!(first, other(|s| s.seed = 8));
    assert_ne!(first, other(|s| s.name = "emc".into()));
    // Another version of this code must start rows from the same numbers: the fractions of row 5, in parts of 2^24.
    let fractions: Vec<f32> = first[5 * 4..6 * 4].iter().map(|w| (w + 1.0) / 2.0 * 2f32.powi(24)).collect();
    assert_eq!(fractions, [8238110.0, 11668783.0, 13762402.0, 7209552.0]);
}

#[test]
fn initial_weights_have_their_distribution() {
    let ids: Vec<i64> = (0..20_000).collect();
    let moments = |init| {
        let table = HashedTable::new(Spec { init, ..spec(4, &[]) }).unwrap();
        let values = read(&table, &ids, Missing::Create);
        let n = values.len() as f64;
        let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
        let most = values.iter().fold(0f32, |most, &v| most.max((v - 1.0).abs()));
        (mean, variance.sqrt(), most)
    };
    let near = |a: f64, b: f64| (a - b).abs() < 0.02;
    let (mean, std, most) = moments(RowInit::Uniform { min: 0.0, max: 2.0 });
    assert!(near(mean, 1.0) && near(std, 3f64.sqrt().recip()) && most <= 1.0, "{mean} {std} {most}");
    let (mean, std, most) = moments(RowInit::Gaussian { mean: 1.0, std: 2.0 });
    assert!(near(mean, 1.0) && near(std, 2.0) && most > 6.0, "{mean} {std} {most}");
    let (mean, std, most) = moments(RowInit::TruncatedGaussian { mean: 1.0, std: 2.0 });
    assert!(near(mean, 1.0) && near(std, 2.0 * 0.7737413f64.sqrt()) && most <= 4.0, "{mean} {std} {most}");
    assert_eq!(moments(RowInit::Constant(1.0)), (1.0, 0.0, 0.0));
}

#[test]
fn a_full_table_says_so_and_changes_nothing() {
    let table = HashedTable::new(Spec { max_rows: Some(3), ..spec(1, &[]) }).unwrap();
    table.put(&[1, 2], 1, &[1.0, 2.0], &[]).unwrap();
    let error = table.add(&[1, 2, 3, 4], 2, &[1.0; 4]).unwrap_err();
    let text = "table `emb` holds 3 rows, which is its limit; make the table larger, evict rows that are not used, \
                or admit fewer ids";
    assert_eq!(error.to_string(), text);
    assert_eq!(read(&table, &[1, 2], Missing::Zero), [1.0, 2.0]);
    assert!(table.read(&[9, 10], &mut [0.0; 2], Missing::Create).is_err());
    assert_eq!(table.read(&[9], &mut [0.0], Missing::Zero), Ok(Report { created: 0, missing: 1 }));
    assert_eq!((table.evict(Evict::CountBelow(1)), table.len()), (1, 2));
    table.add(&[1, 2, 30], 2, &[1.0; 3]).unwrap();
}

#[test]
fn impossible_tables_and_calls_are_refused() {
    let refused = |change: fn(&mut Spec)| {
        let mut spec = spec(1, &[1]);
        change(&mut spec);
        HashedTable::new(spec).err().map(|e| e.to_string())
    };
    assert_eq!(refused(|s| s.width = 0).as_deref(), Some("table `emb`: rows need at least one weight"));
    assert!(refused(|s| s.state[0].width = 0).is_some());
    assert!(refused(|s| s.init = RowInit::Uniform { min: 1.0, max: 0.0 }).is_some());
    assert!(refused(|s| s.init = RowInit::Gaussian { mean: f32::NAN, std: 0.0 }).is_some());
    assert!(refused(|s| s.admission = Admission::Count(0)).is_some());
    assert!(refused(|s| s.admission = Admission::Probability(1.5)).is_some());
    let table = table(2, &[]);
    let error = table.read(&[1, 2], &mut [0.0; 3], Missing::Zero).unwrap_err();
    assert_eq!(error.to_string(), "table `emb`: the ids need 4 weights, but 3 are given");
    assert!(table.for_each_row(SHARDS, |_, _, _, _| {}).is_err());
    let error = table.snapshot_shard(0, |_, _, _, _| {}).unwrap_err();
    assert_eq!(error.to_string(), "table `emb`: there is no snapshot to read; begin one first");
    table.begin_snapshot(4).unwrap();
    let error = table.begin_snapshot(5).unwrap_err();
    assert_eq!(error.to_string(), "table `emb`: snapshot 5 cannot begin before snapshot 4 ends");
    table.snapshot_shard(0, |_, _, _, _| {}).unwrap();
    assert_eq!(
        table.snapshot_shard(0, |_, _, _, _| {}).unwrap_err().to_string(),
        "table `emb`: the snapshot of shard 0 was read already"
    );
    assert_eq!(table.snapshot(), Some(4));
}

#[test]
fn ids_are_admitted_by_count_or_probability() {
    let table = HashedTable::new(Spec { admission: Admission::Count(3), ..spec(2, &[]) }).unwrap();
    let start = read(&self::table(2, &[]), &[5], Missing::Create);
    let mut out = [0.0; 2];
    for expected in [1, 1] {
        assert_eq!(table.read(&[5], &mut out, Missing::Create), Ok(Report { created: 0, missing: expected }));
        assert_eq!(out[..], start);
    }
    // Neither evaluation nor updates count, and what has no row is not updated.
    assert_eq!(read(&table, &[5], Missing::Zero), [0.0; 2]);
    assert_eq!(table.add(&[5], 1, &[1.0; 2]), Ok(Report { created: 0, missing: 1 }));
    assert_eq!(table.read(&[5], &mut out, Missing::Create), Ok(Report { created: 1, missing: 0 }));
    assert_eq!(out[..], start);
    assert_eq!(table.add(&[5], 1, &[1.0; 2]), Ok(Report::default()));
    // What waits is forgotten by time.
    table.read(&[6, 6], &mut [0.0; 4], Missing::Create).unwrap();
    table.evict(Evict::UnseenSince(2));
    assert_eq!(table.read(&[6], &mut out, Missing::Create), Ok(Report { created: 0, missing: 1 }));

    let table = HashedTable::new(Spec { admission: Admission::Probability(0.25), ..spec(1, &[]) }).unwrap();
    let ids: Vec<i64> = (0..10_000).collect();
    read(&table, &ids, Missing::Create);
    assert!((2300..2700).contains(&table.len()), "{}", table.len());
    read(&table, &ids, Missing::Create);
    assert!((4100..4650).contains(&table.len()), "{}", table.len());
}

#[test]
fn shards_list_rows_changed_since_a_sequence_number() {
    let table = table(1, &[]);
    let shard = shard_of(1);
    assert_eq!(table.changed_since(shard, 0), Ok((0, Changed::Rows(vec![]))));
    table.add(&[1], 1, &[1.0]).unwrap();
    let (lsn, changed) = table.changed_since(shard, 0).unwrap();
    assert_eq!(changed, Changed::Rows(vec![1]));
    read(&table, &[1], Missing::Create);
    assert_eq!(table.changed_since(shard, lsn), Ok((lsn, Changed::Rows(vec![]))));
    table.evict(Evict::Where(&|id, _, _, _| id == 1));
    assert_eq!(table.changed_since(shard, lsn), Ok((lsn + 1, Changed::Rows(vec![1]))));
    (0..20).for_each(|now| drop(table.add(&[1], now, &[1.0])));
    assert_eq!(table.changed_since(shard, lsn).unwrap().1, Changed::Everything);
}

#[test]
fn rows_are_evicted_by_time_count_or_score() {
    let table = table(1, &[]);
    table.put(&[1, 2, 3, 4], 1, &[1.0, 2.0, 3.0, 4.0], &[]).unwrap();
    table.add(&[2, 3, 4], 2, &[0.0; 3]).unwrap();
    table.add(&[4], 3, &[0.0]).unwrap();
    assert_eq!(table.evict(Evict::UnseenSince(2)), 1);
    assert_eq!(table.evict(Evict::Where(&|_, header, weights, _| header.count == 2 && weights[0] > 2.5)), 1);
    assert_eq!(table.evict(Evict::CountBelow(3)), 1);
    let left = rows(&table);
    assert_eq!(left, Rows::from([(4, (Header { last: 3, count: 3, ..Header::default() }, vec![4.0], vec![]))]));
    // The memory of rows that are gone serves new ones.
    let before = table.memory().arena;
    for turn in 0..50 {
        let ids: Vec<i64> = (turn * 1000 + 100..turn * 1000 + 200).collect();
        table.put(&ids, 4, &[0.0; 100], &[]).unwrap();
        table.evict(Evict::Where(&|id, _, _, _| id != 4));
    }
    assert!(table.memory().arena <= before.max(1 << 20));
    assert_eq!(rows(&table), left);
}

#[test]
fn a_row_costs_little_more_than_its_numbers() {
    let table = table(10, &[10]);
    for part in 0..250 {
        let ids: Vec<i64> = (part * 4000..part * 4000 + 4000).collect();
        table.update(&ids, 1, |_, _, _| {}).unwrap();
        let memory = table.memory();
        // Wherever growth stands; smaller tables pay for the shards themselves.
        assert!(memory.rows < 200_000 || memory.per_row() <= 1.35 * 88.0, "{memory}");
    }
    let memory = table.memory();
    assert!(memory.rows == 1_000_000 && memory.raw == 88 && memory.per_row() <= 1.25 * 88.0, "{memory}");
}

#[test]
fn small_tables_are_small() {
    let table = table(10, &[10]);
    table.update(&[1, 2, 3], 1, |_, _, _| {}).unwrap();
    assert!(table.memory().bytes() < 1 << 20, "{}", table.memory());
}

/// Random ids with repeats taken out, the same for the same seed.
fn ids_of(seed: u64, n: u64, among: u64) -> Vec<i64> {
    let mut engine = Mt19937x64::new(seed);
    let mut ids: Vec<i64> = (0..n).map(|_| uniform_int(&mut engine, 0, among) as i64).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn threads_lose_no_update() {
    let table = HashedTable::new(Spec { init: RowInit::Constant(0.0), ..spec(2, &[1]) }).unwrap();
    let (threads, batches) = (4, 60);
    std::thread::scope(|s| {
        for thread in 0..threads {
            let table = &table;
            s.spawn(move || {
                let pool = Pool::new(2);
                for batch in 0..batches {
                    let ids = ids_of(thread * batches + batch, 3000, 5000);
                    let add = |_: usize, weights: &mut [f32], _: &mut [f32]| weights.iter_mut().for_each(|w| *w += 1.0);
                    match batch % 3 {
                        0 => table.update(&ids, batch as u32, add),
                        1 => table.update_on(&pool, &ids, batch as u32, add),
                        _ => table.add(&ids, batch as u32, &vec![1.0; ids.len() * 2]),
                    }
                    .unwrap();
                    read(table, &ids[..100], Missing::Zero);
                }
            });
        }
    });
    let mut expected = BTreeMap::new();
    for seed in 0..threads * batches {
        ids_of(seed, 3000, 5000).into_iter().for_each(|id| *expected.entry(id).or_insert(0.0) += 1.0);
    }
    let found: BTreeMap<i64, f32> = rows(&table).into_iter().map(|(id, row)| (id, row.1[1])).collect();
    assert_eq!(found, expected);
}

#[test]
fn snapshots_hold_whole_batches_while_updates_go_on() {
    // Every batch adds 1 to all rows, and makes one: in a snapshot all rows have the same value, and there are as many.
    let table = HashedTable::new(Spec { init: RowInit::Constant(0.0), ..spec(1, &[]) }).unwrap();
    let ids: Vec<i64> = (0..3000).collect();
    table.add(&ids, 0, &[0.0; 3000]).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut batch = ids.clone();
            for now in 1.. {
                batch.push(2999 + i64::from(now));
                let deltas: Vec<f32> = (0..batch.len()).map(|i| if i < 3000 { 1.0 } else { 0.0 }).collect();
                table.add(&batch, now, &deltas).unwrap();
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for epoch in 0..15 {
            table.begin_snapshot(epoch).unwrap();
            let rows = snapshot_rows(&table);
            table.end_snapshot();
            let batches = rows[&0].1[0];
            assert!(rows.iter().all(|(&id, row)| row.1[0] == if id < 3000 { batches } else { 0.0 }), "epoch {epoch}");
            assert_eq!(rows.len(), 3000 + batches as usize);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn threads_change_no_result() {
    let ids = ids_of(3, 20_000, 1 << 40);
    let run = |threads| {
        let (table, pool) = (table(3, &[3, 1]), Pool::new(threads));
        let n = ids.len();
        let (mut weights, mut state) = (vec![0.0; n * 3], vec![0.0; n * 4]);
        let report = table.take_on(&pool, &ids, &mut weights, &mut state).unwrap();
        assert_eq!(report, Report { created: n as u64, missing: 0 });
        weights.iter_mut().enumerate().for_each(|(i, w)| *w += i as f32);
        table.put_on(&pool, &ids, 1, &weights, &state).unwrap();
        let mut out = vec![0.0; n * 3];
        table.read_on(&pool, &ids, &mut out, Missing::Zero).unwrap();
        assert_eq!(out, weights);
        (rows(&table), out)
    };
    assert!(run(1) == run(3));
}

/// Updates of one id per step, as a table that counts shows gets them.
fn update_shown(table: &HashedTable, ids: &[i64], now: u32, shown: Shown) {
    table.count_shows(ids, now, |_| shown).unwrap();
    table.update(ids, now, |_, weights, state| (weights[0], state[0]) = (weights[0] + 1.0, state[0] + 1.0)).unwrap();
}

const ONE_SHOW: Shown = Shown { show: 1.0, click: 0.0 };

#[test]
fn rows_not_updated_for_long_are_evicted_by_sweeps() {
    let retention = Retention { unseen: Some(4), score: None };
    let table = HashedTable::new(Spec { retention, ..spec(1, &[1]) }).unwrap();
    for now in 1..=9 {
        update_shown(&table, if now < 4 { &[1, 2, 3] } else { &[2] }, now, ONE_SHOW);
        let gone = table.sweep(now);
        // Ids 1 and 3 were updated at 3 for the last time.
        assert_eq!((gone, table.len()), if now == 7 { (2, 1) } else { (0, if now < 7 { 3 } else { 1 }) }, "{now}");
    }
    assert_eq!((table.evicted(), table.memory().evicted), (2, 2));
    assert_eq!(rows(&table)[&2].0, Header { last: 9, count: 9, ..Header::default() }, "nothing is counted");
}

#[test]
fn a_large_table_is_swept_some_shards_at_a_time() {
    let unseen = 4000;
    let table =
        HashedTable::new(Spec { retention: Retention { unseen: Some(unseen), score: None }, ..spec(1, &[]) }).unwrap();
    let ids: Vec<i64> = (0..20_000).collect();
    table.update(&ids, 1, |_, weights, _| weights[0] += 1.0).unwrap();
    let most = (2..=unseen).map(|now| table.sweep(now)).sum::<u64>();
    assert_eq!((most, table.len()), (0, 20_000));
    let swept: Vec<u64> = (unseen + 1..unseen + 501).map(|now| table.sweep(now)).collect();
    assert_eq!((swept.iter().sum::<u64>(), table.len()), (20_000, 0), "an eighth later the last one is gone");
    assert!(swept.iter().all(|n| *n < 200), "{swept:?}");
}

#[test]
fn rows_evicted_by_score_return_when_their_step_is_rolled_back() {
    let score = Score { period: Some(5), decay: 0.5, below: 0.2, ..Score::default() };
    let retention = Retention { unseen: None, score: Some(score) };
    let table = HashedTable::new(Spec { retention, ..spec(2, &[2]) }).unwrap();
    for now in 1..=20 {
        // Of one id there are many shows, of another one click.
        update_shown(&table, &[1], now, Shown { show: 3.0, click: 0.0 });
        if now == 1 {
            update_shown(&table, &[2], now, Shown { show: 1.0, click: 1.0 });
            update_shown(&table, &[3], now, ONE_SHOW);
        }
        let before = rows(&table);
        table.begin_step();
        table.sweep(now);
        let after = rows(&table);
        for (id, (_, weights, _)) in &before {
            let mut read = [0.0; 2];
            table.read_before_step(&[*id], &mut read).unwrap();
            assert_eq!(read[..], weights[..], "{now}: {id} as it was");
        }
        table.rollback_step();
        assert_eq!(rows(&table), before, "{now}");
        table.sweep(now);
        assert_eq!(rows(&table), after, "{now}");
        // 0.1 is too little at the end of the first period, 1 after three of them.
        let turn = |id: i64| shard_of(id) as u32 * 5 / SHARDS as u32;
        assert_eq!(after.contains_key(&3), now < if turn(3) > 1 { turn(3) } else { turn(3) + 5 }, "{now}");
        assert!(after.contains_key(&1));
    }
    let left = rows(&table);
    assert_eq!((left.len(), table.evicted()), (1, 2));
    assert!(left[&1].0.shown.show < 30.0, "{:?}", left[&1].0);
    assert_eq!(table.memory().row - table.memory().raw, 16, "8 of the header, 8 of shows and clicks");
}

#[test]
fn rows_below_a_given_score_are_evicted() {
    let retention = RowPolicy::parse("show_click_entry:show:click", "").unwrap().retention;
    let table = HashedTable::new(Spec { retention, ..spec(1, &[1]) }).unwrap();
    update_shown(&table, &[1], 1, Shown { show: 1.0, click: 1.0 });
    update_shown(&table, &[2], 1, Shown { show: 9.0, click: 0.0 });
    assert_eq!((table.sweep(1), table.sweep(1000)), (0, 0), "not by itself");
    assert_eq!((table.evict(Evict::ScoreBelow(0.95)), table.len()), (1, 1));
    let plain = HashedTable::new(spec(1, &[1])).unwrap();
    update_shown(&plain, &[1], 1, ONE_SHOW);
    assert_eq!(plain.evict(Evict::ScoreBelow(9.0)), 0);
}

#[test]
fn impossible_retention_is_refused() {
    let retention = Retention { unseen: Some(0), score: None };
    let error = HashedTable::new(Spec { retention, ..spec(1, &[]) }).err().unwrap().to_string();
    assert_eq!(error, "table `emb`: rows that were not updated in 0 updates are all rows: say 1 or more");
}
