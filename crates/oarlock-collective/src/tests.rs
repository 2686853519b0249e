//! Groups of threads over loopback: every engine, every collective call, and failures.

use std::sync::Barrier;
use std::time::Duration;

use super::*;
use oarlock_net::{Listener, NetOptions};

fn endpoints(count: usize) -> Vec<String> {
    let bind = |_| Listener::bind("127.0.0.1:0", &NetOptions::default()).unwrap();
    let listeners: Vec<Listener> = (0..count).map(bind).collect();
    listeners.iter().map(|listener| listener.endpoint().to_string()).collect()
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Shared,
    Tcp,
}

impl Way {
    fn backend(self) -> Backend {
        match self {
            Way::Shared => Backend::Auto,
            Way::Tcp => Backend::Tcp,
        }
    }
}

/// Runs `work` on every rank of a group.
fn run<R: Send>(count: usize, way: Way, work: impl Fn(&Group) -> R + Sync) -> Vec<R> {
    run_with(count, |options| options.backend = way.backend(), work)
}

fn run_with<R: Send>(
    count: usize,
    set: impl Fn(&mut GroupOptions) + Sync,
    work: impl Fn(&Group) -> R + Sync,
) -> Vec<R> {
    let endpoints = endpoints(count);
    std::thread::scope(|threads| {
        let worker = |rank: usize| {
            let mut options = GroupOptions::new(rank, endpoints.clone());
            options.deadline = Duration::from_secs(60);
            set(&mut options);
            let work = &work;
            threads.spawn(move || {
                let group = Group::join(options).unwrap();
                let result = work(&group);
                group.leave();
                result
            })
        };
        let workers: Vec<_> = (0..count).map(worker).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// Numbers whose sum depends on the order in which they are added.
fn numbers(rank: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + rank * 104_729) % 1_000_003) as f32 * 1.7e-3 - 800.0).collect()
}

#[test]
fn all_reduce_gives_all_ranks_the_same_bits_every_time() {
    for (count, way) in
        [(2, Way::Shared), (3, Way::Shared), (2, Way::Tcp), (3, Way::Tcp), (5, Way::Tcp), (4, Way::Shared)]
    {
        for len in [0, 1, 1000, 4096, 20_000, 300_001] {
            let sum = |group: &Group| {
                let mut results = Vec::new();
                for _ in 0..2 {
                    let mut data = numbers(group.rank(), len);
                    group.all_reduce(&mut data, Reduce::Sum).unwrap();
                    results.push(data);
                }
                results
            };
            let results: Vec<Vec<f32>> = run(count, way, sum).into_iter().flatten().collect();
            let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(results.iter().all(|other| bits(other) == bits(&results[0])), "{count} {way:?} {len}");
            let mut exact = vec![0.0_f64; len];
            for rank in 0..count {
                exact.iter_mut().zip(numbers(rank, len)).for_each(|(sum, x)| *sum += f64::from(x));
            }
            let near = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() <= 1e-3 * b.abs().max(1.0);
            assert!(results[0].iter().zip(&exact).all(near), "{count} {way:?} {len}");
        }
    }
}

#[test]
fn max_min_and_product_are_reduced_in_all_types() {
    for way in [Way::Shared, Way::Tcp] {
        let results = run(3, way, |group| {
            let rank = group.rank() as i64;
            let (mut max, mut min, mut prod) = ([rank, -rank], [rank, -rank], [rank + 1, 2]);
            group.all_reduce(&mut max, Reduce::Max).unwrap();
            group.all_reduce(&mut min, Reduce::Min).unwrap();
            group.all_reduce(&mut prod, Reduce::Prod).unwrap();
            let mut wide = vec![rank as f64; 10_000];
            group.all_reduce(&mut wide, Reduce::Max).unwrap();
            assert!(wide.iter().all(|x| *x == 2.0));
            (max, min, prod)
        });
        assert!(results.iter().all(|r| *r == ([2, 0], [0, -2], [6, 8])), "{results:?}");
    }
}

#[test]
fn all_gather_reduce_scatter_and_broadcast() {
    for (count, way) in [(2, Way::Shared), (3, Way::Shared), (2, Way::Tcp), (3, Way::Tcp), (4, Way::Tcp)] {
        for len in [1, 100, 150_000] {
            run(count, way, |group| {
                let mut all = vec![0.0; len * count];
                group.all_gather(&numbers(group.rank(), len), &mut all).unwrap();
                for (rank, slice) in all.chunks(len).enumerate() {
                    assert_eq!(slice, numbers(rank, len), "{count} {way:?} {len}");
                }
                for root in 0..count {
                    let mut data = numbers(group.rank(), len);
                    group.broadcast(&mut data, root).unwrap();
                    assert_eq!(data, numbers(root, len));
                }
                let ones: Vec<i32> = (0..len * count).map(|i| i as i32).collect();
                let mut own = vec![0; len];
                group.reduce_scatter(&ones, &mut own, Reduce::Sum).unwrap();
                let first = group.rank() * len;
                assert!(own.iter().enumerate().all(|(i, x)| *x == ((first + i) * count) as i32));
                group.barrier().unwrap();
            });
        }
    }
}

/// Four ranks on machines that only differ in name.
#[test]
fn hierarchical_engine_gives_all_ranks_the_same_values() {
    for (machines, len) in [([0, 0, 1, 1], 1000), ([0, 0, 1, 1], 100_000), ([0, 1, 0, 2], 20_000), ([1, 0, 0, 0], 5)] {
        let set = |options: &mut GroupOptions| {
            options.hierarchical = true;
            options.machine = Some(format!("m{}", machines[options.rank]));
        };
        let results = run_with(4, set, |group| {
            assert_eq!(group.route(), "shared memory, then TCP between machines");
            let mut sum = numbers(group.rank(), len);
            group.all_reduce(&mut sum, Reduce::Sum).unwrap();
            let mut all = vec![0.0; 4 * len];
            group.all_gather(&numbers(group.rank(), len), &mut all).unwrap();
            assert!(all.chunks(len).enumerate().all(|(rank, slice)| slice == numbers(rank, len)));
            for root in 0..4 {
                let mut data = numbers(group.rank(), len);
                group.broadcast(&mut data, root).unwrap();
                assert_eq!(data, numbers(root, len));
            }
            let mut own = vec![0_i32; len];
            group.reduce_scatter(&vec![1_i32; 4 * len], &mut own, Reduce::Sum).unwrap();
            assert!(own.iter().all(|x| *x == 4));
            sum
        });
        assert!(results.iter().all(|sum| *sum == results[0]));
    }
}

#[test]
fn ranks_on_several_machines_use_tcp() {
    let set = |options: &mut GroupOptions| options.machine = Some(format!("m{}", options.rank / 2));
    let sums = run_with(3, set, |group| {
        assert_eq!(group.route(), "TCP");
        let mut sum = [group.rank() as i64];
        group.all_reduce(&mut sum, Reduce::Sum).unwrap();
        sum[0]
    });
    assert_eq!(sums, [3, 3, 3]);
}

#[test]
fn barrier_is_passed_after_all_ranks_reached_it() {
    let arrived = std::sync::atomic::AtomicUsize::new(0);
    run(3, Way::Shared, |group| {
        arrived.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        group.barrier().unwrap();
        assert_eq!(arrived.load(std::sync::atomic::Ordering::SeqCst), 3);
    });
}

#[test]
fn rank_that_left_is_named_by_waiting_ranks() {
    for way in [Way::Shared, Way::Tcp] {
        let errors = run(3, way, |group| {
            group.barrier().unwrap();
            if group.rank() == 1 {
                return String::new();
            }
            group.all_reduce(&mut [1.0_f32; 4], Reduce::Sum).unwrap_err().to_string()
        });
        for rank in [0, 2] {
            assert!(
                errors[rank].contains("rank 1 (127.0.0.1:") && errors[rank].contains("has left"),
                "{}",
                errors[rank]
            );
            assert!(errors[rank].contains("all_reduce (sum) of f32[4]"), "{}", errors[rank]);
        }
    }
}

#[test]
fn ranks_in_different_calls_get_an_error_with_both() {
    for way in [Way::Shared, Way::Tcp] {
        let errors = run_with(
            2,
            |options| {
                options.backend = way.backend();
                options.deadline = Duration::from_secs(10);
            },
            |group| {
                let mut data = vec![0.0_f32; 4 + group.rank()];
                group.all_reduce(&mut data, Reduce::Sum).map_err(|e| e.to_string())
            },
        );
        let error = errors[0].as_ref().unwrap_err();
        assert!(error.contains("is in all_reduce (sum) of f32[5]"), "{error}");
        assert!(error.contains("but rank 0 in all_reduce (sum) of f32[4]"), "{error}");
    }
}

/// The errors of two ranks that start with these settings.
fn refused(set: impl Fn(&mut GroupOptions) + Sync) -> Vec<String> {
    let endpoints = endpoints(2);
    std::thread::scope(|threads| {
        let worker = |rank: usize| {
            let mut options = GroupOptions::new(rank, endpoints.clone());
            options.deadline = Duration::from_secs(20);
            set(&mut options);
            threads.spawn(move || Group::join(options).map(|_| ()).unwrap_err().to_string())
        };
        let workers: Vec<_> = (0..2).map(worker).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn different_programs_and_settings_are_refused() {
    let errors = refused(|options| {
        options.program = vec!["fc_0.b_0 f32[1]".into(), format!("fc_0.w_0 f32[13, {}]", 1 + options.rank)];
    });
    for error in errors {
        let what = "the programs differ: rank 1 has fc_0.w_0 f32[13, 2], where rank 0 has fc_0.w_0 f32[13, 1]";
        assert!(error.contains(what), "{error}");
    }
    let errors = refused(|options| options.fuse_bytes = (1 + options.rank) << 20);
    assert!(errors.iter().all(|e| e.contains("rank 1 has OARLOCK_FUSE_MB=2.000")), "{errors:?}");
}

#[test]
fn rank_that_does_not_join_is_named() {
    let endpoints = endpoints(2);
    let mut options = GroupOptions::new(0, endpoints.clone());
    options.deadline = Duration::from_millis(300);
    let error = Group::join(options).unwrap_err().to_string();
    let what = format!("not all 2 ranks joined within 0 s: rank 1 ({}) did not", endpoints[1]);
    assert!(error.contains(&what), "{error}");
}

#[test]
fn rank_that_misses_a_deadline_is_named() {
    // Both begin to wait at the same time, so that neither is late for the other where the machine is busy.
    let (both, done) = (Barrier::new(2), Barrier::new(3));
    let errors = run_with(
        3,
        |options| {
            options.deadline = Duration::from_secs(6);
            // Its heartbeats go on, if late where the machine is busy.
            options.heartbeat_timeout = Duration::from_secs(5);
        },
        |group| {
            group.barrier().unwrap();
            let result = match group.rank() {
                2 => Ok(()),
                _ => {
                    both.wait();
                    group.barrier()
                }
            };
            done.wait();
            result.map_err(|e| e.to_string())
        },
    );
    for error in &errors[..2] {
        let error = error.as_ref().unwrap_err();
        assert!(error.contains("rank 2 (") && error.contains("did not reach"), "{error}");
    }
}

#[test]
fn global_shuffle_sends_every_sample_to_its_rank() {
    use oarlock_io::data::{Exchange, SampleParts};
    let rounds = run(3, Way::Shared, |group| {
        let mut exchange = ShuffleExchange(group);
        let me = group.rank() as u8;
        let parts = (0..3).map(|to| vec![10 * me + to; usize::from(to + me)]).collect();
        exchange.all_to_all(SampleParts { parts, more: me == 1 }).unwrap()
    });
    for (to, round) in rounds.into_iter().enumerate() {
        let want: Vec<Vec<u8>> = (0..3).map(|from| vec![10 * from + to as u8; to + usize::from(from)]).collect();
        assert_eq!(round, SampleParts { parts: want, more: true });
    }
}
