//! A panic is told to the host before it ends the plugin: there is no standard error that could show it.

use std::panic;

use crate::bindings::dunlin::tool::tool_types::report_crash;

/// Has the host told of panics in this instance.
pub fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("a panic without a text");
        report_crash(&match panic.location() {
            Some(place) => format!("{message} ({place})"),
            None => message.to_owned(),
        });
    }));
}
