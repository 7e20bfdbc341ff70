//! How much of the machine a model may take.

use crate::config::env::Environment;

/// The variables by which the engine, and the pool below it, are told how many threads to use.
const OF_ENGINE: &str = "CANDLE_NUM_THREADS";
const OF_POOL: &str = "RAYON_NUM_THREADS";

/// More bring no more: memory is the bound then.
const MOST: usize = 8;

/// Leaves half of the machine to others, unless the user has said otherwise. The engine's threads wait for each other
/// without ever sleeping, some hundred times for each token: where another program takes one of them its processor, all the
/// others burn theirs. With a thread for every processor a reply takes ten times as long beside a compiler.
///
/// The pool is told, too: untold, the engine counts the processors anew for each product of matrices, by a file of
/// the system, and an embedding model takes half as long again.
///
/// There must be no other thread yet: the engine reads an environment variable and nothing else.
pub fn leave_room(environment: &Environment) {
    if environment.get(OF_ENGINE).is_some() || environment.get(OF_POOL).is_some() {
        return;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors / 2).clamp(1, MOST).to_string();
    #[expect(
        unsafe_code,
        reason = "nobody else reads the environment while there is one thread"
    )]
    // SAFETY: called at the start of the program, before the first thread.
    unsafe {
        std::env::set_var(OF_ENGINE, &threads);
        std::env::set_var(OF_POOL, threads);
    }
}
