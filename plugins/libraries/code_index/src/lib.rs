//! An index of source code that answers questions in plain words.
//!
//! A question is a sentence; the answer is the functions that it most likely means. The work is lexical: names are
//! split into words and words reduced to stems ([`words`]), files are cut into chunks of a function or so
//! ([`chunks`]), and a question is scored against chunks, whole files and paths (`search`). What a grammar knows is
//! asked only of the few files that are shown.
//!
//! The index lies in a [`Store`] as segments that are never changed; a small list says which of their files still
//! count. So an update writes only what is new, whoever is stopped in the middle has lost only his last step, and
//! bytes that are not what was written lead to reading the files again, never to a wrong answer.
//!
//! Nothing here knows a file system, a clock or a thread: it runs in a sandbox. The caller names the files there are,
//! reads them when asked, and says when it has been long enough.

pub mod chunks;
mod frame;
mod index;
pub mod kind;
mod search;
mod segment;
mod store;
mod vectors;
pub mod words;

pub use index::{FileMetadata, Index, Progress};
pub use search::{Answer, Candidate, FEATURES, Hit, Passage, Query, QueryError, Rerank, Weights};
pub use store::{MemoryStore, Store, StoreError};
pub use vectors::Vectors;
