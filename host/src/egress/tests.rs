//! Requests against servers on this machine.
