//! Level of detail: how rows of a tensor group into sequences, and sequences into longer ones.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{Error, Result};

/// Offsets per level, outermost first; each level starts at 0 and the last offset of the innermost level is the number of rows.
/// Shared, so passing a LoD from tensor to tensor copies nothing.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Lod(Option<Arc<Vec<Vec<usize>>>>);

impl Lod {
    /// No levels: an ordinary tensor.
    pub const NONE: Lod = Lod(None);

    /// A LoD of these offsets, which the caller knows to be well formed (see [`Lod::check`] for outside data).
    pub fn new(levels: Vec<Vec<usize>>) -> Lod {
        if levels.is_empty() { Lod(None) } else { Lod(Some(Arc::new(levels))) }
    }

    /// A LoD from lengths of sequences instead of offsets, as users write it (`recursive_sequence_lengths`).
    pub fn from_lengths(lengths: &[Vec<usize>]) -> Lod {
        Lod::new(
            lengths
                .iter()
                .map(|level| {
                    let mut offsets = Vec::with_capacity(level.len() + 1);
                    offsets.push(0);
                    let mut end = 0;
                    for n in level {
                        end += n;
                        offsets.push(end);
                    }
                    offsets
                })
                .collect(),
        )
    }

    /// The levels, outermost first.
    pub fn levels(&self) -> &[Vec<usize>] {
        self.0.as_ref().map_or(&[], |l| l)
    }

    /// The number of levels.
    pub fn len(&self) -> usize {
        self.levels().len()
    }

    /// No levels at all?
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The innermost level, which divides the rows.
    pub fn last(&self) -> Option<&[usize]> {
        self.levels().last().map(Vec::as_slice)
    }

    /// The LoD without its innermost level.
    pub fn without_last(&self) -> Lod {
        match self.levels() {
            [] | [_] => Lod::NONE,
            [outer @ .., _] => Lod::new(outer.to_vec()),
        }
    }

    /// Lengths of the sequences of each level.
    pub fn lengths(&self) -> Vec<Vec<usize>> {
        self.levels().iter().map(|l| l.windows(2).map(|w| w[1] - w[0]).collect()).collect()
    }

    /// Some sequences of the outermost level alone, and the rows that they are. Without levels, every row is a sequence.
    pub fn part(&self, sequences: Range<usize>) -> (Lod, Range<usize>) {
        let mut range = sequences;
        let mut levels = Vec::with_capacity(self.len());
        for level in self.levels() {
            let first = level[range.start];
            levels.push(level[range.start..=range.end].iter().map(|at| at - first).collect());
            range = first..level[range.end];
        }
        (Lod::new(levels), range)
    }

    /// The LoD of tensors put one after the other; `None` if they do not have the same number of levels.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Lod>) -> Option<Lod> {
        let mut parts = parts.into_iter();
        let mut levels = parts.next()?.levels().to_vec();
        for part in parts {
            if part.len() != levels.len() {
                return None;
            }
            for (level, more) in levels.iter_mut().zip(part.levels()) {
                let end = level.last().copied().unwrap_or(0);
                level.extend(more.iter().skip(1).map(|at| end + at));
            }
        }
        Some(Lod::new(levels))
    }

    /// Is this a LoD for `rows` rows? Checks outside data: starts at 0, ascends, each level ends where the next one begins.
    pub fn check(&self, rows: usize) -> Result<()> {
        let fail = |level, why| Err(Error::Lod { level, why });
        for (i, level) in self.levels().iter().enumerate() {
            if level.first() != Some(&0) {
                return fail(i, "does not start at 0".into());
            }
            if level.windows(2).any(|w| w[0] > w[1]) {
                return fail(i, format!("does not ascend: {level:?}"));
            }
            let below = self.levels().get(i + 1).map_or(rows, |l| l.len().saturating_sub(1));
            let last = level[level.len() - 1];
            if last != below {
                let what = if i + 1 == self.len() { "rows" } else { "sequences of the level below" };
                return fail(i, format!("ends at {last}, but there are {below} {what}"));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Lod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.levels()).finish()
    }
}

#[test]
fn lod_checks_name_the_level() {
    let lod = Lod::new(vec![vec![0, 1, 3], vec![0, 2, 2, 5]]);
    assert_eq!(lod.check(5), Ok(()));
    assert_eq!(lod.check(4).unwrap_err().to_string(), "LoD level 1 ends at 5, but there are 4 rows");
    assert_eq!(Lod::from_lengths(&[vec![1, 2], vec![2, 0, 3]]), lod);
    let bad = Lod::new(vec![vec![0, 4, 2]]);
    assert_eq!(bad.check(2).unwrap_err().to_string(), "LoD level 0 does not ascend: [0, 4, 2]");
}

#[test]
fn parts_of_sequences_join_to_the_whole() {
    // Three documents of 2, 1 and 1 sentences, with 3, 1, 2 and 4 words.
    let whole = Lod::from_lengths(&[vec![2, 1, 1], vec![3, 1, 2, 4]]);
    let (first, rows) = whole.part(0..1);
    assert_eq!((first.lengths(), rows), (vec![vec![2], vec![3, 1]], 0..4));
    let (rest, rows) = whole.part(1..3);
    assert_eq!((rest.lengths(), rows), (vec![vec![1, 1], vec![2, 4]], 4..10));
    assert_eq!(Lod::joined([&first, &rest]), Some(whole.clone()));
    assert_eq!(Lod::joined([&whole, &Lod::NONE]), None);
    assert_eq!(Lod::NONE.part(2..5), (Lod::NONE, 2..5));
    assert_eq!(Lod::joined([&Lod::NONE, &Lod::NONE]), Some(Lod::NONE));
}
