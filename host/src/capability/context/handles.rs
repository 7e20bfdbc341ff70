//! What the guest holds.

use wasmtime::component::ResourceTable;

use crate::limits;

/// The resources of one guest.
pub(crate) struct Handles {
    /// Open files, answers and processes: each of them holds something of the system, so there are few.
    pub(crate) table: ResourceTable,
    /// What is only memory, bounded by `declared_bytes`. Apart, so that a plugin can always say that it has too many files.
    pub(crate) values: ResourceTable,
    /// Bytes of what the plugin has declared.
    pub(crate) declared_bytes: usize,
}

impl Default for Handles {
    fn default() -> Handles {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::MAX_HANDLES);
        Handles {
            table,
            values: ResourceTable::new(),
            declared_bytes: 0,
        }
    }
}
