//! The folder of an app, with its versions.
