//! Which rows of a table to ask of which server: every id once.

use oarlock_ir::{Error, Kind, Result};

use oarlock_transpile::placement::server_of_id;

/// Where the rows of a table are.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    /// Partitioned into ranges: the first row of each, and behind the last one the number of rows.
    Ranges(Vec<i64>),
    /// Hashed over this number of servers.
    Hashed(usize),
}

impl Route {
    /// The part that holds an id, and the id's name there.
    fn find(&self, id: i64) -> Option<(usize, i64)> {
        match self {
            Route::Hashed(servers) => Some((server_of_id(id, *servers), id)),
            Route::Ranges(starts) => {
                let part = starts.partition_point(|start| *start <= id).checked_sub(1)?;
                (part + 1 < starts.len()).then(|| (part, id - starts[part]))
            }
        }
    }
}

/// The rows of one lookup; keeps its memory from lookup to lookup.
#[derive(Default)]
pub(crate) struct RowPlan {
    /// Open addressing: positions in `unique`, plus one.
    index: Vec<u32>,
    unique: Vec<i64>,
    /// For each looked-up id the position of its row; [`NO_ROW`] for padding.
    pub(crate) row_of: Vec<u32>,
    /// For each row its part, and its position among those of the part.
    pub(crate) home: Vec<(u32, u32)>,
    /// The ids to ask of each part, as the part names them.
    pub(crate) parts: Vec<Vec<i64>>,
}

/// Stands for the row of zeros.
pub(crate) const NO_ROW: u32 = u32::MAX;

impl RowPlan {
    /// Plans a lookup of `ids`; rows of `padding` are zero.
    pub(crate) fn plan<'a>(
        &mut self,
        ids: impl Iterator<Item = &'a [i64]> + Clone,
        padding: Option<i64>,
        route: &Route,
        parts: usize,
        table: &str,
    ) -> Result<()> {
        let count: usize = ids.clone().map(<[i64]>::len).sum();
        self.clear(count, parts);
        for &id in ids.flatten() {
            if Some(id) == padding {
                self.row_of.push(NO_ROW);
                continue;
            }
            let row = self.row(id);
            self.row_of.push(row);
        }
        for id in &self.unique {
            let Some((part, there)) = route.find(*id) else { return Err(out_of_range(*id, route, table)) };
            self.home.push((part as u32, self.parts[part].len() as u32));
            self.parts[part].push(there);
        }
        Ok(())
    }

    fn clear(&mut self, count: usize, parts: usize) {
        let size = (count * 2).next_power_of_two().max(16);
        self.index.clear();
        self.index.resize(size, 0);
        self.unique.clear();
        self.row_of.clear();
        self.home.clear();
        self.parts.resize_with(parts, Vec::new);
        self.parts.iter_mut().for_each(Vec::clear);
    }

    fn row(&mut self, id: i64) -> u32 {
        let mask = self.index.len() - 1;
        let mut at = mix(id) as usize & mask;
        loop {
            match self.index[at] {
                0 => {
                    self.unique.push(id);
                    self.index[at] = self.unique.len() as u32;
                    return self.unique.len() as u32 - 1;
                }
                found if self.unique[found as usize - 1] == id => return found - 1,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// Spreads ids over the index; neighbours must not share a run of places.
fn mix(id: i64) -> u64 {
    (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

#[cold]
fn out_of_range(id: i64, route: &Route, table: &str) -> Error {
    let rows = match route {
        Route::Ranges(starts) => starts.last().copied().unwrap_or(0),
        Route::Hashed(_) => i64::MAX,
    };
    Error::new(Kind::Range, format!("id {id} is looked up in table `{table}`, which has {rows} rows"))
        .help("ids count from 0; enlarge the table, or hash ids into its range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_asked_once_of_the_part_that_holds_it() {
        let mut plan = RowPlan::default();
        let route = Route::Ranges(vec![0, 10, 20]);
        let ids: [&[i64]; 2] = [&[3, 12, 3], &[7, -1, 19]];
        plan.plan(ids.into_iter(), Some(-1), &route, 2, "t").unwrap();
        assert_eq!(plan.parts, [[3, 7], [2, 9]]);
        assert_eq!(plan.row_of, [0, 1, 0, 2, NO_ROW, 3]);
        assert_eq!(plan.home, [(0, 0), (1, 0), (0, 1), (1, 1)]);
        let error = plan.plan([&[20i64][..]].into_iter(), None, &route, 2, "t").unwrap_err();
        assert_eq!(error.report().what, "id 20 is looked up in table `t`, which has 20 rows");
        assert!(plan.plan([&[-5i64][..]].into_iter(), None, &route, 2, "t").is_err());
    }

    #[test]
    fn any_number_is_an_id_of_a_hashed_table() {
        let mut plan = RowPlan::default();
        let ids = [i64::MIN, -1, 0, i64::MAX, 0];
        plan.plan([&ids[..]].into_iter(), None, &Route::Hashed(3), 3, "t").unwrap();
        assert_eq!(plan.home.len(), 4);
        assert_eq!(plan.row_of[2], plan.row_of[4]);
        assert_eq!(plan.parts.iter().map(Vec::len).sum::<usize>(), 4);
    }
}
