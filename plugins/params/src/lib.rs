//! Parses @param lines into JSON Schema.
