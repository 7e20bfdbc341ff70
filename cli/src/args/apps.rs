//! What may be typed after `dunlin app`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Subcommand, ValueHint};
use dunlin_apps::Part;

/// Understands the name of a part.
fn parts() -> impl TypedValueParser<Value = Part> {
    PossibleValuesParser::new(Part::ALL.map(Part::name)).try_map(|name| name.parse())
}

/// What can be done with apps.
#[derive(Debug, Subcommand)]
pub enum AppCommand {
    /// List the apps
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run an app and open its page in the browser, until Ctrl-C
    Open {
        /// The app's name, as `list` prints it
        name: String,
    },
    /// Run an app and print the address of its page, until Ctrl-C
    Serve {
        /// The app's name, as `list` prints it
        name: String,
    },
    /// Show what is known of an app, or the source of one part
    Show {
        /// The app's name, as `list` prints it
        name: String,
        /// Print the source of this part: html, renderer-js or main-js
        #[arg(long, value_name = "PART", value_parser = parts())]
        part: Option<Part>,
    },
    /// Write the app into a new folder, as files that a browser shows without Dunlin
    Export {
        /// The app's name, as `list` prints it
        name: String,
        /// The folder, which must not exist [default: the app's name]
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
    /// Delete apps with all their versions and what they have stored
    Delete {
        /// The apps' names, as `list` prints them
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}
