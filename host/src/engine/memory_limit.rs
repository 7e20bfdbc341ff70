//! Bounds the memory of one call, summed over everything it consists of.
//!
//! The engine's own limiter counts each memory alone, and a component may hold several.

use wasmtime::ResourceLimiter;

use crate::limits;

/// Counts what a store has grown to.
#[derive(Debug)]
pub(crate) struct Limiter {
    max_memory_bytes: usize,
    memory_bytes: usize,
    table_elements: usize,
    refused: Option<Refused>,
}

/// Of what the guest wanted more than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Memory,
    Tables,
}

impl Limiter {
    pub(crate) fn new(max_memory_bytes: usize) -> Limiter {
        Limiter {
            max_memory_bytes,
            memory_bytes: 0,
            table_elements: 0,
            refused: None,
        }
    }

    /// What was refused last, if anything.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Another call begins in the same store: what was refused before is not the cause of what happens now.
    pub(crate) fn forget_refused(&mut self) {
        self.refused = None;
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let sum = self.memory_bytes.saturating_add(more);
        if sum > self.max_memory_bytes {
            self.refused = Some(Refused::Memory);
            return Ok(false);
        }
        // Growing past the memory's own maximum fails later and must not be counted.
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.memory_bytes = sum;
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let sum = self
            .table_elements
            .saturating_add(desired.saturating_sub(current));
        if sum > limits::MAX_TABLE_ELEMENTS {
            self.refused = Some(Refused::Tables);
            return Ok(false);
        }
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.table_elements = sum;
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        limits::MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        limits::MAX_TABLES
    }

    fn memories(&self) -> usize {
        limits::MAX_MEMORIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_summed() {
        let mut limiter = Limiter::new(100);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert_eq!(limiter.refused(), None);
        assert!(!limiter.memory_growing(40, 41, None).unwrap());
        assert_eq!(limiter.refused(), Some(Refused::Memory));
    }

    #[test]
    fn what_fails_later_is_not_counted() {
        let mut limiter = Limiter::new(100);
        assert!(limiter.memory_growing(0, 90, Some(50)).unwrap());
        assert!(limiter.memory_growing(0, 90, Some(90)).unwrap());
    }
}
