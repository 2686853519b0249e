//! The memory of a table.

use std::fmt;

/// The memory of a table, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The table's name.
    pub name: String,
    /// Rows in the table.
    pub rows: u64,
    /// Bytes of one row: id, header, weights and state.
    pub row: usize,
    /// Bytes of a row that any table would need: id, weights and state.
    pub raw: usize,
    /// Blocks that hold the rows, with what is not used yet.
    pub arena: usize,
    /// The way from ids to rows.
    pub index: usize,
    /// Rows that were evicted.
    pub evicted: u64,
    /// The rest: shards, ids that wait for admission, ids of recent changes, rows kept for a snapshot or a step.
    pub other: usize,
}

impl Memory {
    /// All of it.
    pub fn bytes(&self) -> usize {
        self.arena + self.index + self.other
    }

    /// All of it, per row.
    pub fn per_row(&self) -> f64 {
        self.bytes() as f64 / self.rows.max(1) as f64
    }
}

/// One line for people.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        write!(f, "table `{}`: {} rows in {:.1} MiB, ", self.name, self.rows, mib(self.bytes()))?;
        match self.rows {
            0 => write!(f, "{} bytes per row to come ", self.row)?,
            _ => write!(f, "{:.1} bytes per row ", self.per_row())?,
        }
        write!(f, "(id, weights and state {}, header {}); ", self.raw, self.row - self.raw)?;
        write!(f, "rows {:.1} MiB, index {:.1}, other {:.1}", mib(self.arena), mib(self.index), mib(self.other))?;
        match self.evicted {
            0 => Ok(()),
            evicted => write!(f, "; {evicted} rows evicted"),
        }
    }
}

#[test]
fn the_memory_of_a_table_prints_as_one_line() {
    let (arena, index) = (100 << 20, 6 << 20);
    let m = Memory { name: "emb".into(), rows: 1 << 20, row: 96, raw: 88, arena, index, evicted: 0, other: 0 };
    let line = "table `emb`: 1048576 rows in 106.0 MiB, 106.0 bytes per row (id, weights and state 88, header 8); \
                rows 100.0 MiB, index 6.0, other 0.0";
    assert_eq!(m.to_string(), line);
    assert_eq!(Memory { evicted: 7, ..m.clone() }.to_string(), format!("{line}; 7 rows evicted"));
    let empty = Memory { rows: 0, arena: 0, index: 0, other: 376_832, ..m };
    let line = "table `emb`: 0 rows in 0.4 MiB, 96 bytes per row to come (id, weights and state 88, header 8); \
                rows 0.0 MiB, index 0.0, other 0.4";
    assert_eq!(empty.to_string(), line);
}
