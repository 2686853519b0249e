//! The variables that trainers of a GEO job share, and where servers have them.

use oarlock_ir::Name;

/// A parameter that is trained here and shared with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoVar {
    /// Its name here.
    pub param: Name,
    /// Only the rows that were looked up are exchanged.
    pub sparse: bool,
    /// Where it is on the servers, in the order of its rows.
    pub blocks: Vec<GeoBlock>,
}

/// Some rows of a parameter, on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoBlock {
    /// Its name there.
    pub name: String,
    /// The server.
    pub endpoint: String,
    /// How many rows it has.
    pub rows: usize,
}
