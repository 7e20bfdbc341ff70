//! The configuration: the first run, the commands that show and change it, and where keys are kept.

mod commands;
mod config_edit;
mod first_run;
mod keys;
mod trust;
