use super::*;

fn joined(trainers: usize, policy: Policy) -> StepBarrier {
    let mut barrier = StepBarrier::new(trainers, policy);
    for trainer in 0..trainers {
        assert_eq!(barrier.on(Event::Join { trainer, incarnation: 1 }), []);
    }
    barrier
}

fn push(barrier: &mut StepBarrier, trainer: usize, step: u64) -> Vec<Effect> {
    barrier.on(Event::Push { trainer, incarnation: 1, step })
}

fn apply(step: u64, of: &[usize]) -> Effect {
    Effect::Apply { step, of: of.to_vec() }
}

#[test]
fn last_push_completes_the_step() {
    let mut barrier = joined(2, Policy::Fail);
    assert_eq!(push(&mut barrier, 1, 1), [Effect::Accept]);
    assert_eq!(barrier.awaited(), [0]);
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Accept, apply(1, &[0, 1])]);
    assert_eq!(barrier.done(), 1);
}

#[test]
fn duplicate_push_is_not_counted_again() {
    let mut barrier = joined(2, Policy::Fail);
    push(&mut barrier, 0, 1);
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Duplicate], "before the step is complete");
    push(&mut barrier, 1, 1);
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Duplicate], "and after it");
    assert_eq!(push(&mut barrier, 0, 3), [Effect::Refuse(Refusal::OutOfStep { expected: 2 })]);
}

#[test]
fn trainer_that_left_is_not_awaited() {
    let mut barrier = joined(2, Policy::Fail);
    push(&mut barrier, 0, 1);
    let effects = barrier.on(Event::Leave { trainer: 1, incarnation: 1 });
    assert_eq!(effects, [apply(1, &[0])]);
    assert_eq!(push(&mut barrier, 0, 2), [Effect::Accept, apply(2, &[0])]);
    assert!(barrier.has_left(1, 1) && !barrier.has_left(1, 2) && !barrier.has_left(0, 1));
    let late = barrier.on(Event::Join { trainer: 1, incarnation: 1 });
    assert_eq!(late, [Effect::Refuse(Refusal::NotHere)], "of the same process");
    assert_eq!(barrier.on(Event::Leave { trainer: 0, incarnation: 1 }), [Effect::Finish]);
}

#[test]
fn loss_fails_the_job_under_policy_fail() {
    let mut barrier = joined(2, Policy::Fail);
    push(&mut barrier, 0, 1);
    let failure = Failure { trainer: 1, step: 1, joined: true };
    let lost = barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    assert_eq!(lost, [Effect::Lost(failure), Effect::Fail(failure)]);
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Fail(failure)]);
    assert_eq!(failure.to_string(), "trainer 1 was lost in step 1");
}

#[test]
fn trainer_that_never_joined_is_reported_as_absent() {
    let mut barrier = StepBarrier::new(2, Policy::Fail);
    barrier.on(Event::Join { trainer: 0, incarnation: 1 });
    assert_eq!((barrier.expected(), barrier.is_expected(1)), (vec![1], true));
    let absent = barrier.on(Event::Absent { trainer: 1 });
    let failure = Failure { trainer: 1, step: 1, joined: false };
    assert_eq!(absent, [Effect::Lost(failure), Effect::Fail(failure)]);
    assert_eq!(failure.to_string(), "trainer 1 never joined");
}

#[test]
fn others_go_on_without_a_lost_trainer_under_policy_shrink() {
    let mut barrier = joined(2, Policy::Shrink);
    push(&mut barrier, 0, 1);
    let lost = barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    assert_eq!(lost, [Effect::Lost(Failure { trainer: 1, step: 1, joined: true }), apply(1, &[0])]);
    assert_eq!(push(&mut barrier, 0, 2), [Effect::Accept, apply(2, &[0])]);
}

#[test]
fn trainer_that_rejoins_agrees_on_a_step() {
    let mut barrier = joined(2, Policy::Shrink);
    barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    let rejoin =
        |barrier: &mut StepBarrier, from| barrier.on(Event::Rejoin { trainer: 1, incarnation: 2, from, pauses: 0 });
    assert_eq!(rejoin(&mut barrier, 4), [Effect::Refuse(Refusal::NotHere)], "before it joins");
    assert_eq!(barrier.on(Event::Join { trainer: 1, incarnation: 2 }), []);
    assert!(barrier.must_rejoin(1));
    let early = barrier.on(Event::Push { trainer: 1, incarnation: 2, step: 1 });
    assert_eq!(early, [Effect::Refuse(Refusal::LeftBehind)]);
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Accept, apply(1, &[0])], "no step waits for it yet");
    assert_eq!(rejoin(&mut barrier, 1), [Effect::Refuse(Refusal::OutOfStep { expected: 2 })], "too late for that");
    assert_eq!(rejoin(&mut barrier, 3), []);
    assert_eq!(push(&mut barrier, 0, 2), [Effect::Accept, apply(2, &[0])]);
    assert_eq!(push(&mut barrier, 0, 3), [Effect::Accept]);
    assert_eq!(barrier.awaited(), [1]);
    // Another server had made that step already: a later one is agreed on.
    assert_eq!(rejoin(&mut barrier, 4), [apply(3, &[0])]);
    assert_eq!(push(&mut barrier, 0, 4), [Effect::Accept]);
    let joined = barrier.on(Event::Push { trainer: 1, incarnation: 2, step: 4 });
    assert_eq!(joined, [Effect::Accept, apply(4, &[0, 1])]);
    assert_eq!(rejoin(&mut barrier, 4), [], "a duplicate");
    barrier.on(Event::Leave { trainer: 0, incarnation: 1 });
    assert!(!barrier.has_no_participants());
    assert_eq!(barrier.on(Event::Leave { trainer: 1, incarnation: 2 }), [Effect::Finish]);
}

#[test]
fn others_wait_for_a_lost_trainer_under_policy_wait() {
    let mut barrier = joined(2, Policy::Wait);
    push(&mut barrier, 0, 1);
    let lost = barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    assert_eq!(lost, [Effect::Lost(Failure { trainer: 1, step: 1, joined: true })]);
    assert_eq!(barrier.awaited(), [1]);
    barrier.on(Event::Join { trainer: 1, incarnation: 2 });
    let back = barrier.on(Event::Push { trainer: 1, incarnation: 2, step: 1 });
    assert_eq!(back, [Effect::Accept, apply(1, &[0, 1])]);
}

#[test]
fn push_of_a_trainer_that_is_lost_afterwards_counts() {
    let mut barrier = joined(2, Policy::Shrink);
    push(&mut barrier, 1, 1);
    barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Accept, apply(1, &[0, 1])]);
}

fn pause(barrier: &mut StepBarrier, trainer: usize, number: u64) -> Vec<Effect> {
    barrier.on(Event::Pause { trainer, incarnation: 1, number })
}

fn resume(barrier: &mut StepBarrier, trainer: usize, number: u64, from: u64) -> Vec<Effect> {
    barrier.on(Event::Resume { trainer, incarnation: 1, number, from })
}

#[test]
fn steps_are_made_without_a_paused_trainer() {
    let mut barrier = joined(2, Policy::Fail);
    push(&mut barrier, 0, 1);
    push(&mut barrier, 1, 1);
    assert_eq!(push(&mut barrier, 0, 2), [Effect::Accept]);
    assert_eq!(pause(&mut barrier, 1, 1), [apply(2, &[0])]);
    assert_eq!((barrier.is_awaited(1), barrier.is_awaited_at_barrier(1), barrier.must_rejoin(1)), (false, true, false));
    assert_eq!(push(&mut barrier, 1, 3), [Effect::Refuse(Refusal::Paused)]);
    assert_eq!(push(&mut barrier, 0, 3), [Effect::Accept, apply(3, &[0])]);
    // Trainer 0 comes to the same barrier; the first to go on resumes both.
    assert_eq!(pause(&mut barrier, 0, 1), []);
    assert!(barrier.has_no_participants());
    (0..2).for_each(|trainer| assert_eq!(resume(&mut barrier, trainer, 1, 4), []));
    assert_eq!(push(&mut barrier, 0, 4), [Effect::Accept]);
    assert_eq!(barrier.awaited(), [1]);
    assert_eq!(resume(&mut barrier, 1, 1, 4), [], "it resumes, too");
    assert_eq!(pause(&mut barrier, 1, 1), [], "a request that arrives late");
    assert_eq!(push(&mut barrier, 1, 4), [Effect::Accept, apply(4, &[0, 1])]);
}

#[test]
fn later_pause_outlasts_the_end_of_an_earlier_one() {
    let mut barrier = joined(2, Policy::Fail);
    (0..2).for_each(|trainer| assert_eq!(pause(&mut barrier, trainer, 1), []));
    // Trainer 1 is at the next barrier already when trainer 0 goes on after this one.
    pause(&mut barrier, 1, 2);
    (0..2).for_each(|trainer| assert_eq!(resume(&mut barrier, trainer, 1, 1), []));
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Accept, apply(1, &[0])]);
    assert_eq!(resume(&mut barrier, 1, 2, 1), [Effect::Refuse(Refusal::OutOfStep { expected: 2 })]);
    assert!(barrier.must_rejoin(1), "it has to agree on a step with all servers");
}

#[test]
fn process_that_replaces_a_paused_one_must_rejoin() {
    let mut barrier = joined(2, Policy::Wait);
    pause(&mut barrier, 1, 1);
    barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Accept, apply(1, &[0])], "it had no data");
    assert!(barrier.is_awaited_at_barrier(1));
    barrier.on(Event::Join { trainer: 1, incarnation: 2 });
    assert!(barrier.must_rejoin(1));
    assert_eq!(resume(&mut barrier, 1, 1, 2), [], "the pause of the earlier process");
    assert!(barrier.must_rejoin(1));
    assert_eq!(barrier.on(Event::Rejoin { trainer: 1, incarnation: 2, from: 2, pauses: 0 }), []);
    assert_eq!(push(&mut barrier, 0, 2), [Effect::Accept]);
    assert_eq!(barrier.awaited(), [1]);
    let paused = barrier.on(Event::Pause { trainer: 1, incarnation: 2, number: 1 });
    assert_eq!(paused, [apply(2, &[0])]);
    let late = barrier.on(Event::Rejoin { trainer: 1, incarnation: 2, from: 3, pauses: 0 });
    assert_eq!((late, barrier.is_awaited(1)), (Vec::new(), false), "a request that arrives late");
}

/// A process rejoins, goes on after its last push, and pauses before the others have pushed.
#[test]
fn push_of_a_trainer_that_pauses_afterwards_counts() {
    let mut barrier = joined(2, Policy::Wait);
    push(&mut barrier, 0, 1);
    barrier.on(Event::Join { trainer: 0, incarnation: 2 });
    assert_eq!(barrier.on(Event::Pause { trainer: 0, incarnation: 2, number: 1 }), []);
    assert_eq!(push(&mut barrier, 1, 1), [Effect::Accept, apply(1, &[0, 1])]);
    assert_eq!(push(&mut barrier, 1, 2), [Effect::Accept, apply(2, &[1])]);
}

/// One server made a step more than this one before all of their trainers were lost or paused.
#[test]
fn steps_without_participants_are_skipped() {
    let mut barrier = joined(2, Policy::Shrink);
    pause(&mut barrier, 0, 1);
    barrier.on(Event::Lose { trainer: 1, incarnation: 1 });
    barrier.on(Event::Join { trainer: 1, incarnation: 2 });
    assert_eq!(barrier.on(Event::Rejoin { trainer: 1, incarnation: 2, from: 3, pauses: 0 }), []);
    assert_eq!(barrier.done(), 2);
    let pushed = barrier.on(Event::Push { trainer: 1, incarnation: 2, step: 3 });
    assert_eq!(pushed, [Effect::Accept, apply(3, &[1])]);
}

#[test]
fn earlier_process_of_a_trainer_is_refused() {
    let mut barrier = joined(1, Policy::Wait);
    barrier.on(Event::Join { trainer: 0, incarnation: 7 });
    assert_eq!(push(&mut barrier, 0, 1), [Effect::Refuse(Refusal::Replaced)]);
    assert_eq!(barrier.on(Event::Join { trainer: 0, incarnation: 3 }), [Effect::Refuse(Refusal::Replaced)]);
    assert_eq!(barrier.on(Event::Lose { trainer: 0, incarnation: 1 }), [], "its end is no loss");
    let text = Refusal::NoSuchTrainer { trainers: 1 }.to_string();
    assert_eq!(text, "this job has 1 trainers, numbered from 0");
    assert_eq!(
        barrier.on(Event::Join { trainer: 1, incarnation: 1 }),
        [Effect::Refuse(Refusal::NoSuchTrainer { trainers: 1 })]
    );
}
