//! Few cases that cover every pair of values of any two properties.

use std::collections::BTreeSet;

/// A value of each property, by number.
pub(super) type Choice = Vec<usize>;

/// Two properties and their values.
type Pair = ((usize, usize), (usize, usize));

/// Every combination.
pub(super) fn product(sizes: &[usize]) -> Vec<Choice> {
    let add = |all: Vec<Choice>, size: &usize| {
        let longer = |c: &Choice| (0..*size).map(|v| c.iter().copied().chain([v]).collect()).collect::<Vec<Choice>>();
        all.iter().flat_map(longer).collect()
    };
    sizes.iter().fold(vec![Vec::new()], add)
}

/// Cases such that every pair of values that is possible at all is in one of them.
pub(super) fn all_pairs(sizes: &[usize], possible: impl Fn(&[usize]) -> bool) -> Vec<Choice> {
    let axes = 0..sizes.len();
    let both = axes.clone().flat_map(|a| axes.clone().skip(a + 1).map(move |b| (a, b)));
    let mut open: BTreeSet<Pair> = both
        .flat_map(|(a, b)| product(&[sizes[a], sizes[b]]).into_iter().map(move |v| ((a, v[0]), (b, v[1]))))
        .collect();
    let mut cases = Vec::new();
    while let Some(pair) = open.first().copied() {
        open.remove(&pair);
        if let Some(case) = complete(sizes, pair, &open, &possible) {
            open.retain(|((a, x), (b, y))| case[*a] != *x || case[*b] != *y);
            cases.push(case);
        }
    }
    cases
}

/// How many values properties have, which pairs are open, and what is possible.
type Rest<'a> = (&'a [usize], &'a BTreeSet<Pair>, &'a dyn Fn(&[usize]) -> bool);

/// The case with this pair that covers most of the open ones, value by value; `None` if the pair is in no possible case.
fn complete(
    sizes: &[usize],
    pair: Pair,
    open: &BTreeSet<Pair>,
    possible: &impl Fn(&[usize]) -> bool,
) -> Option<Choice> {
    // Values that fit nowhere are stepped over by trying the next best ones, axis by axis.
    fn fill(axis: usize, case: &mut Choice, fixed: &[(usize, usize); 2], rest: Rest<'_>) -> bool {
        let (sizes, open, possible) = rest;
        if axis == sizes.len() {
            return possible(case);
        }
        let mut values: Vec<usize> = match fixed.iter().find(|(a, _)| *a == axis) {
            Some((_, value)) => vec![*value],
            None => (0..sizes[axis]).collect(),
        };
        let known: Vec<(usize, usize)> = case.iter().copied().enumerate().chain(fixed.iter().copied()).collect();
        let gain = |value: usize| {
            let covers = |&(a, x): &(usize, usize)| {
                let pair = if a < axis { ((a, x), (axis, value)) } else { ((axis, value), (a, x)) };
                open.contains(&pair)
            };
            known.iter().filter(|k| covers(k)).count()
        };
        // Equal gains in an order that differs from case to case, so that values are used alike.
        values.sort_by_key(|value| (std::cmp::Reverse(gain(*value)), (value + open.len()) % sizes[axis]));
        for value in values {
            case.push(value);
            if fill(axis + 1, case, fixed, rest) {
                return true;
            }
            case.pop();
        }
        false
    }
    let mut case = Vec::new();
    let possible: &dyn Fn(&[usize]) -> bool = possible;
    fill(0, &mut case, &[pair.0, pair.1], (sizes, open, possible)).then_some(case)
}

#[test]
fn every_possible_pair_is_covered() {
    let sizes = [3, 4, 2, 5];
    let possible = |c: &[usize]| !(c[0] == 2 && c[3] == 1);
    let cases = all_pairs(&sizes, possible);
    assert!(cases.iter().all(|case| possible(case)));
    assert!(cases.len() < product(&sizes).len() / 4, "{} cases", cases.len());
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        for v in product(&[sizes[a], sizes[b]]) {
            let there = cases.iter().any(|c| c[a] == v[0] && c[b] == v[1]);
            assert_eq!(there, (a, b) != (0, 3) || v != [2, 1], "{a} {b} {v:?}");
        }
    }
}
