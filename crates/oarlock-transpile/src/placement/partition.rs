//! Partitions variables into blocks of whole rows.

use oarlock_ir::Name;

/// The rule of a partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Partition {
    /// The most blocks: the number of servers, or 1 to leave variables whole.
    pub pieces: usize,
    /// The fewest elements of a block, unless the variable has fewer.
    pub min_block_size: usize,
}

/// Some consecutive rows of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct VarBlock {
    /// The variable.
    pub var: Name,
    /// Which block of the variable this is.
    pub index: usize,
    /// How many blocks the variable has.
    pub of: usize,
    /// The first row.
    pub first_row: usize,
    /// The sizes of the block: rows first, then those of the variable.
    pub dims: Vec<usize>,
}

impl VarBlock {
    /// Is this the whole variable?
    pub fn is_whole(&self) -> bool {
        self.of == 1
    }

    /// The block's name: `w.block1`, or the variable's if it is whole.
    pub fn name(&self) -> Name {
        self.name_of(&self.var)
    }

    /// The name of the same block of a variable that is partitioned alike, such as the gradient.
    pub fn name_of(&self, var: &str) -> Name {
        if self.is_whole() { var.into() } else { block_name(var, self.index) }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.dims.first().copied().unwrap_or(1)
    }
}

/// The name of a block of a partitioned variable.
pub fn block_name(var: &str, index: usize) -> Name {
    format!("{var}.block{index}").into()
}

/// Partitions a variable: as evenly as whole rows allow, and never finer than `rule` says.
pub fn partition(var: &Name, dims: &[usize], rule: Partition) -> Vec<VarBlock> {
    let elements: usize = dims.iter().product();
    let width = dims.iter().skip(1).product::<usize>().max(1);
    let pieces = rule.pieces.min(elements / rule.min_block_size.max(1)).max(1);
    let rows_per_block = elements.div_ceil(pieces).div_ceil(width).max(1);
    let rows = dims.first().copied().unwrap_or(1);
    // A variable without rows still has one, empty, block.
    let of = rows.div_ceil(rows_per_block).max(1);
    let block = |index: usize| {
        let first_row = index * rows_per_block;
        let mut dims = dims.to_vec();
        if let Some(size) = dims.first_mut() {
            *size = rows_per_block.min(rows - first_row);
        }
        VarBlock { var: var.clone(), index, of, first_row, dims }
    };
    (0..of).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(dims: &[usize], pieces: usize, min_block_size: usize) -> Vec<Vec<usize>> {
        partition(&"w".into(), dims, Partition { pieces, min_block_size }).into_iter().map(|b| b.dims).collect()
    }

    #[test]
    fn blocks_are_those_of_fluid() {
        assert_eq!(blocks(&[8, 4000], 2, 8192), [[4, 4000], [4, 4000]]);
        assert_eq!(blocks(&[3001, 8], 2, 8192), [[1501, 8], [1500, 8]]);
        assert_eq!(blocks(&[8, 2000], 2, 8192), [[8, 2000]]);
        assert_eq!(blocks(&[1000, 8], 2, 8192), [[1000, 8]]);
        assert_eq!(blocks(&[784, 100], 2, 8192), [[392, 100], [392, 100]]);
        assert_eq!(blocks(&[20000], 2, 8192), [[10000], [10000]]);
        assert_eq!(blocks(&[221, 64], 2, 1024), [[111, 64], [110, 64]]);
        // Whole rows: three pieces were asked for, but 2 + 2 + 1 rows need only three blocks of two.
        assert_eq!(blocks(&[5, 10], 3, 1), [[2, 10], [2, 10], [1, 10]]);
        assert_eq!(blocks(&[4, 10], 3, 1), [[2, 10], [2, 10]]);
    }

    #[test]
    fn variables_without_elements_or_with_one_row_are_partitioned() {
        assert_eq!(blocks(&[], 2, 1), [[0usize; 0]]);
        assert_eq!(blocks(&[0, 4], 2, 1), [[0, 4]]);
        assert_eq!(blocks(&[7], 1, 1), [[7]]);
    }

    #[test]
    fn blocks_cover_every_row_once() {
        for rows in [1, 2, 3, 7, 100, 101] {
            for pieces in 1..6 {
                let blocks = partition(&"w".into(), &[rows, 3], Partition { pieces, min_block_size: 4 });
                let ends: Vec<usize> = blocks.iter().map(|b| b.first_row + b.rows()).collect();
                assert_eq!(blocks[0].first_row, 0);
                assert_eq!(*ends.last().unwrap(), rows);
                assert!(blocks.iter().skip(1).zip(&ends).all(|(b, end)| b.first_row == *end));
                assert!(blocks.len() <= pieces);
            }
        }
    }

    #[test]
    fn blocks_are_named_after_their_variable() {
        let blocks = partition(&"w".into(), &[4, 4], Partition { pieces: 2, min_block_size: 1 });
        assert_eq!((&*blocks[1].name(), &*blocks[1].name_of("w@GRAD")), ("w.block1", "w@GRAD.block1"));
        let whole = partition(&"w".into(), &[4, 4], Partition { pieces: 1, min_block_size: 1 });
        assert_eq!((&*whole[0].name(), &*whole[0].name_of("w@GRAD")), ("w", "w@GRAD"));
    }
}
