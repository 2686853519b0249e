//! Unique names: how Fluid numbers layers, temporaries and parameters.

use std::collections::HashMap;

/// Numbers names: the first `fc` is `fc_0`, the next `fc_1`.
///
/// A network's names depend on everything built before it with the same generator; a fresh one makes them repeatable.
#[derive(Debug, Clone, Default)]
pub struct UniqueNames {
    prefix: String,
    next: HashMap<String, usize>,
}

impl UniqueNames {
    /// A generator that starts counting.
    pub fn new() -> UniqueNames {
        UniqueNames::default()
    }

    /// A generator whose names all start with `prefix`.
    pub fn with_prefix(prefix: impl Into<String>) -> UniqueNames {
        UniqueNames { prefix: prefix.into(), next: HashMap::new() }
    }

    /// The next name of a key: `key_0`, `key_1`, ...
    pub fn generate(&mut self, key: &str) -> String {
        let next = self.next.entry(key.to_string()).or_default();
        let name = format!("{}{key}_{next}", self.prefix);
        *next += 1;
        name
    }
}

/// Where in the nesting of name scopes building is now; only ends up in the attribute `op_namescope`.
#[derive(Debug, Clone)]
pub(crate) struct NameScopes {
    /// `/`, `/blk/`, `/blk/inner/`, ...
    path: String,
    /// How often a scope of this name was opened in this place.
    opened: HashMap<String, usize>,
}

impl NameScopes {
    pub(crate) fn new() -> NameScopes {
        NameScopes { path: "/".into(), opened: HashMap::new() }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Opens a scope; a second one of the same name in the same place gets a number. Returns what [`NameScopes::leave`] needs.
    pub(crate) fn enter(&mut self, name: &str) -> String {
        let key = format!("{}{name}", self.path);
        let count = self.opened.entry(key.clone()).or_default();
        let path = if *count == 0 { format!("{key}/") } else { format!("{key}_{count}/") };
        *count += 1;
        std::mem::replace(&mut self.path, path)
    }

    pub(crate) fn leave(&mut self, outer: String) {
        self.path = outer;
    }
}

#[test]
fn keys_are_counted_apart() {
    let mut names = UniqueNames::new();
    assert_eq!([names.generate("fc"), names.generate("fc"), names.generate("fc_0.w")], ["fc_0", "fc_1", "fc_0.w_0"]);
    assert_eq!(UniqueNames::with_prefix("tower/").generate("fc"), "tower/fc_0");
}

#[test]
fn a_scope_opened_again_gets_a_number() {
    let mut scopes = NameScopes::new();
    let root = scopes.enter("blk");
    let blk = scopes.enter("inner");
    assert_eq!(scopes.path(), "/blk/inner/");
    scopes.leave(blk);
    scopes.leave(root);
    let root = scopes.enter("blk");
    assert_eq!(scopes.path(), "/blk_1/");
    scopes.leave(root);
    assert_eq!(scopes.path(), "/");
}
