//! What stands between the tools and the user's own: where Dunlin's files are, and what commands do not see.

use std::path::{Path, PathBuf};

use super::report::{Report, Verdict};
use crate::config::paths::marked_project;
use crate::host_options::commands;
use crate::settings::Settings;

/// Names of variables that are listed.
const MAX_NAMES: usize = 12;

/// Dunlin's own files that lie in a project, be it through a link: they are never granted there either, which may
/// surprise whoever works on them.
pub(super) fn own_files(report: &mut Report<'_>, settings: &Settings) {
    let folders = &settings.folders;
    for path in own(settings) {
        // What is not there, or leads nowhere, lies nowhere.
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        let above = real.parent().unwrap_or(Path::new("/"));
        let current = settings.is_project && real.starts_with(&settings.project);
        let project = match current {
            true => Some(settings.project.as_path()),
            false => marked_project(above, &settings.names_of_homes),
        };
        let Some(project) = project else { continue };
        let written = folders.short(&path);
        let place = match real == path {
            true => format!("{written} lies"),
            false => format!(
                "{written} is a link to {}, which lies",
                folders.short(&real)
            ),
        };
        let project = folders.short(project);
        report.line(
            Verdict::Note,
            "own files",
            &format!("{place} in the project {project}: tools and commands cannot reach it there"),
        );
    }
}

/// The git repositories that commands have left in the project unasked, and that were moved out of it.
pub(super) fn set_aside(report: &mut Report<'_>, settings: &Settings) {
    let folder = settings.folders.set_aside();
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return;
    };
    let moved = entries.count();
    if moved > 0 {
        let times = if moved == 1 { "time" } else { "times" };
        let short = settings.folders.short(&folder);
        report.line(
            Verdict::Note,
            "git",
            &format!(
                "Dunlin moved repositories that commands made out of a project, {moved} {times}: they are in {short}, and you can delete them"
            ),
        );
    }
}

/// Dunlin's folders, and what in them is a link.
fn own(settings: &Settings) -> Vec<PathBuf> {
    let folders = &settings.folders;
    let mut own = Vec::new();
    for folder in [&folders.config, &folders.data, &folders.cache] {
        own.push(folder.clone());
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let mut links: Vec<PathBuf> = links.map(|entry| entry.path()).collect();
        links.sort();
        own.extend(links);
    }
    own
}

/// Which variables commands do not get.
pub(super) fn variables(report: &mut Report<'_>, settings: &Settings) {
    let withheld = commands::environment(settings).withheld;
    let count = withheld.len();
    let few = match report.ui.is_verbose() {
        true => count,
        false => count.min(MAX_NAMES),
    };
    if count == 0 {
        return report.line(Verdict::Good, "variables", "commands get all that are set");
    }
    let names = withheld[..few].join(", ");
    let rest = match count - few {
        0 => String::new(),
        rest => format!(" and {rest} more (-v lists all)"),
    };
    let noun = if count == 1 { "variable" } else { "variables" };
    report.line(
        Verdict::Good,
        "variables",
        &format!("{count} environment {noun} withheld from commands: {names}{rest}"),
    );
    report.way_out(&format!(
        "[commands] environment = [\"NAME\"] in {} lets one through",
        settings.folders.short(&settings.folders.config_file())
    ));
}
