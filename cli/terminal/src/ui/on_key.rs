//! What a key of the line editor does, as a closure: the line editor wants a type for each.

use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, EventHandler, RepeatCount};

/// The handler of a key. The closure gets the key, how often it counts, and the line; `None`: the key does what it does
/// without the handler.
pub fn on_key(
    work: impl Fn(&Event, RepeatCount, &EventContext<'_>) -> Option<Cmd> + Send + Sync + 'static,
) -> EventHandler {
    EventHandler::Conditional(Box::new(OnKey(work)))
}

struct OnKey<F>(F);

impl<F> ConditionalEventHandler for OnKey<F>
where
    F: Fn(&Event, RepeatCount, &EventContext<'_>) -> Option<Cmd> + Send + Sync,
{
    fn handle(
        &self,
        event: &Event,
        count: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        (self.0)(event, count, context)
    }
}
