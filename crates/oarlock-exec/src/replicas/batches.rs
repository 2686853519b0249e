//! Splitting a batch among replicas, and joining the values that they computed.

use std::ops::Range;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Lod, SelectedRows, Tensor, TensorArray, Value};

/// The feeds of the replicas of a run.
#[derive(Debug, Clone, Copy)]
pub enum Feeds<'a> {
    /// A batch, whose samples are dealt out: sequences of the outermost level, or rows.
    Split(&'a [(&'a str, &'a Tensor)]),
    /// A batch for every replica, all with the same names in the same order.
    Each(&'a [Vec<(&'a str, &'a Tensor)>]),
}

/// The feed of one replica in one variable.
pub(crate) struct Part<'a> {
    pub(crate) tensor: &'a Tensor,
    /// Which samples; all if `None`.
    pub(crate) samples: Option<Range<usize>>,
}

impl<'a> Feeds<'a> {
    /// The names that are fed.
    pub(crate) fn names(&self) -> Vec<&'a str> {
        let names = |feed: &'a [(&'a str, &'a Tensor)]| feed.iter().map(|(name, _)| *name).collect();
        match *self {
            Feeds::Split(feed) => names(feed),
            Feeds::Each(feeds) => feeds.first().map_or(Vec::new(), |feed| names(feed)),
        }
    }

    /// The feeds of each replica: one list per replica, or fewer if `partial` allows it and there are fewer samples. A single
    /// sample of a variable that `is_shared` goes to all replicas.
    pub(crate) fn parts(
        &self,
        count: usize,
        partial: bool,
        is_shared: impl Fn(&str) -> bool,
    ) -> Result<Vec<Vec<Part<'a>>>> {
        match *self {
            Feeds::Split(feed) => split(feed, count, partial, is_shared),
            Feeds::Each(feeds) => each(feeds, count, partial),
        }
    }
}

fn split<'a>(
    feed: &'a [(&'a str, &'a Tensor)],
    count: usize,
    partial: bool,
    is_shared: impl Fn(&str) -> bool,
) -> Result<Vec<Vec<Part<'a>>>> {
    let mut active = count;
    for (name, tensor) in feed {
        tensor.lod().check(tensor.rows()).map_err(|e| Error::new(Kind::Lod, format!("fed `{name}`: {e}")))?;
        let samples = tensor.samples();
        if samples >= count || samples == 1 && is_shared(name) {
            continue;
        }
        if !partial {
            let s = if samples == 1 { "" } else { "s" };
            let what = format!("the batch has {samples} sample{s} of `{name}`, but {count} replicas share it");
            return Err(Error::new(Kind::Argument, what).help(format!(
                "feed at least {count} samples (drop a last batch that is too small), or use fewer replicas: \
                 `places`, or the environment variable CPU_NUM"
            )));
        }
        active = active.min(samples.max(1));
    }
    let part = |tensor: &'a Tensor, name: &str, r: usize| {
        let samples = tensor.samples();
        let all = active == 1 || samples == 1 && is_shared(name);
        Part { tensor, samples: (!all).then(|| share(samples, active, r)) }
    };
    Ok((0..active).map(|r| feed.iter().map(|(name, tensor)| part(tensor, name, r)).collect()).collect())
}

/// The samples of a replica: the first ones get one more where they do not come out even.
fn share(samples: usize, count: usize, replica: usize) -> Range<usize> {
    let (each, more) = (samples / count, samples % count);
    let start = |r: usize| r * each + r.min(more);
    start(replica)..start(replica + 1)
}

fn each<'a>(feeds: &'a [Vec<(&'a str, &'a Tensor)>], count: usize, partial: bool) -> Result<Vec<Vec<Part<'a>>>> {
    let fits = if partial { (1..=count).contains(&feeds.len()) } else { feeds.len() == count };
    if !fits {
        let s = if feeds.len() == 1 { "" } else { "s" };
        let what = format!("there are {} feed{s} for {count} replicas", feeds.len());
        return Err(Error::new(Kind::Argument, what).help(
            "feed every replica; a loader with drop_last=False may end with fewer feeds, which only a test program takes",
        ));
    }
    for (r, feed) in feeds.iter().enumerate() {
        if feed.len() != feeds[0].len() || feed.iter().zip(&feeds[0]).any(|(a, b)| a.0 != b.0) {
            let names =
                |feed: &[(&str, &Tensor)]| feed.iter().map(|(n, _)| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let what = format!("replica 0 is fed {}, but replica {r} {}", names(&feeds[0]), names(feed));
            return Err(Error::new(Kind::Argument, what).help("feed all replicas the same variables"));
        }
    }
    let whole =
        |feed: &'a Vec<(&'a str, &'a Tensor)>| feed.iter().map(|(_, tensor)| Part { tensor, samples: None }).collect();
    Ok(feeds.iter().map(whole).collect())
}

/// Puts what replicas computed one after the other, as a run over all samples would have it: rows, sequences, arrays entry by entry.
pub fn joined(name: &str, parts: Vec<Value>) -> Result<Value> {
    let mut parts = parts;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let differ = || {
        let kinds: Vec<&str> = parts.iter().map(Value::kind).collect();
        let what = format!("fetched `{name}` cannot be put together: its replicas hold {}", kinds.join(", "));
        Error::new(Kind::Argument, what).help("fetch with return_merged=False, which gives what each replica has")
    };
    match &parts[0] {
        Value::Dense(_) => {
            let dense: Option<Vec<&Tensor>> = parts.iter().map(|v| v.dense().ok()).collect();
            Ok(Value::Dense(joined_tensors(name, &dense.ok_or_else(differ)?)?))
        }
        Value::Rows(_) => {
            let rows: Option<Vec<&SelectedRows>> = parts.iter().map(|v| v.rows().ok()).collect();
            let rows = rows.ok_or_else(differ)?;
            let values: Vec<&Tensor> = rows.iter().map(|r| &r.value).collect();
            let value = joined_tensors(name, &values)?;
            let ids = rows.iter().flat_map(|r| &r.rows).copied().collect();
            Ok(Value::Rows(SelectedRows { rows: ids, height: rows[0].height, value }))
        }
        Value::Array(first) => {
            let arrays: Option<Vec<&TensorArray>> = parts.iter().map(|v| v.array().ok()).collect();
            let arrays = arrays.ok_or_else(differ)?;
            if arrays.iter().any(|a| a.items().len() != first.items().len()) {
                return Err(differ());
            }
            let entry = |i: usize| joined_tensors(name, &arrays.iter().map(|a| &a.items()[i]).collect::<Vec<_>>());
            Ok(Value::Array(TensorArray::of((0..first.items().len()).map(entry).collect::<Result<_>>()?)))
        }
        _ => Err(differ()),
    }
}

fn joined_tensors(name: &str, parts: &[&Tensor]) -> Result<Tensor> {
    let first = parts[0];
    let lod = Lod::joined(parts.iter().map(|t| t.lod()));
    let alike = |t: &&&Tensor| t.dtype() == first.dtype() && t.dims().with_rows(0) == first.dims().with_rows(0);
    let (Some(lod), None) = (lod, parts.iter().find(|t| !alike(t))) else {
        let sizes: Vec<String> = parts.iter().map(|t| format!("{}{}", t.dtype(), t.dims())).collect();
        let what = format!("fetched `{name}` cannot be put together: its replicas have {}", sizes.join(", "));
        return Err(
            Error::new(Kind::Shape, what).help("fetch with return_merged=False, which gives what each replica has")
        );
    };
    let mut whole = Tensor::new();
    whole.resize(first.dtype(), first.dims().with_rows(parts.iter().map(|t| t.rows()).sum()));
    let mut rest = whole.bytes_mut();
    for part in parts {
        let (mine, others) = rest.split_at_mut(part.bytes().len());
        mine.copy_from_slice(part.bytes());
        rest = others;
    }
    whole.set_lod(lod);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> Tensor {
        Tensor::from_slice([n, 1], &(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
    }

    fn shares(n: usize, count: usize, partial: bool) -> Result<Vec<Option<Range<usize>>>> {
        let tensor = rows(n);
        let feed = [("x", &tensor)];
        let parts = Feeds::Split(&feed).parts(count, partial, |_| false)?;
        Ok(parts.iter().map(|p| p[0].samples.clone()).collect())
    }

    #[test]
    fn samples_are_dealt_out_evenly() {
        assert_eq!(shares(10, 4, false).unwrap(), [Some(0..3), Some(3..6), Some(6..8), Some(8..10)]);
        assert_eq!(shares(1, 1, false).unwrap(), [None]);
        assert_eq!(shares(2, 3, true).unwrap(), [Some(0..1), Some(1..2)]);
        assert_eq!(shares(0, 3, true).unwrap(), [None]);
    }

    #[test]
    fn too_few_samples_are_an_error() {
        assert_eq!(
            shares(1, 2, false).unwrap_err().to_string(),
            "error[argument]: the batch has 1 sample of `x`, but 2 replicas share it\n  help: feed at least 2 samples \
             (drop a last batch that is too small), or use fewer replicas: `places`, or the environment variable CPU_NUM"
        );
    }

    #[test]
    fn every_replica_is_fed_the_same_variables() {
        let (x, y) = (rows(2), rows(3));
        let feeds = [vec![("x", &x), ("y", &y)], vec![("x", &x)]];
        let error = |feeds: &[Vec<(&str, &Tensor)>]| {
            Feeds::Each(feeds).parts(2, false, |_| false).err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert!(error(&feeds).contains("replica 0 is fed `x`, `y`, but replica 1 `x`"), "{}", error(&feeds));
        assert!(error(&feeds[..1]).contains("there are 1 feed for 2 replicas"), "{}", error(&feeds[..1]));
    }

    #[test]
    fn what_cannot_be_joined_is_named() {
        let wide = Tensor::from_slice([1, 2], &[1.0f32, 2.0]).unwrap();
        let e = joined("x", vec![rows(1).into(), wide.into()]).unwrap_err().to_string();
        assert!(e.contains("fetched `x` cannot be put together: its replicas have f32[1, 1], f32[1, 2]"), "{e}");
        let e = joined("x", vec![rows(1).into(), Value::Empty]).unwrap_err().to_string();
        assert!(e.contains("fetched `x` cannot be put together: its replicas hold "), "{e}");
    }
}
