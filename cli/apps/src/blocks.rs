//! The parts of an app in a reply.
