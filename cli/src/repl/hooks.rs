//! `/hooks`: the hooks that count, and how they ran.

use dunlin_chat::tokens::counted;
use dunlin_host::display::{escape, own_command};
use dunlin_host::hooks::{Ran, Runs};

use crate::app::App;
use crate::error::CliError;
use crate::host_options::hooks;
use crate::settings::project::HOOK;

/// Lists them.
pub fn run(app: &App) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    if settings.hooks.is_empty() {
        ui.status("There are no hooks; dunlin help hooks says what they are.");
    }
    let known = app.host()?.hooks();
    for hook in &settings.hooks {
        let option = hooks::option(settings, hook);
        let runs = known.iter().find(|(known, _)| *known == option);
        let runs = runs.map(|(_, runs)| runs.clone()).unwrap_or_default();
        ui.data(&hooks::line(settings, hook));
        ui.data(&format!("    {}", escape(&ran(&runs))));
    }
    let file = settings.project_file.as_ref();
    let waiting = file.filter(|file| file.wants_trust());
    if let Some(file) =
        waiting.filter(|file| file.needs_trust.iter().any(|value| value.name == HOOK))
    {
        let path = settings.folders.short(&file.path);
        ui.status(&format!(
            "The hooks of {} do not count until you trust it: {}",
            escape(&path),
            own_command(&["config", "trust"])
        ));
    }
    Ok(())
}

/// How a hook ran since Dunlin started.
fn ran(Runs { count, last }: &Runs) -> String {
    if *count == 0 {
        return "did not run yet".to_owned();
    }
    let times = counted(
        usize::try_from(*count).unwrap_or(usize::MAX),
        "time",
        "times",
    );
    let last = match last {
        Some(Ran::Well) => "ok".to_owned(),
        Some(Ran::Denied) => "denied".to_owned(),
        Some(Ran::Failed(why)) => format!("failed: {why}"),
        None => "did not end".to_owned(),
    };
    format!("ran {times}, last: {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_in_words() {
        let check = |count, last, expected: &str| {
            assert_eq!(ran(&Runs { count, last }), expected);
        };
        check(0, None, "did not run yet");
        check(1, Some(Ran::Well), "ran 1 time, last: ok");
        check(2, Some(Ran::Denied), "ran 2 times, last: denied");
        check(2, None, "ran 2 times, last: did not end");
        let failed = Ran::Failed("exit status 2".to_owned());
        check(3, Some(failed), "ran 3 times, last: failed: exit status 2");
    }
}
