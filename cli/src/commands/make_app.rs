//! What a command works with, made of the settings.

use std::sync::Arc;

use dunlin_host::Plugin;

use crate::app::App;
use crate::repl::slash::SlashCommands;
use crate::settings::Settings;
use dunlin_terminal::ui::Ui;

/// What a command works with; says first what the settings have to say.
pub fn at_work(ui: &Arc<Ui>, settings: Settings, plugins: Vec<Plugin>) -> App {
    ui.show_steps(settings.general.show_intermediate_steps.value);
    for notice in &settings.notices {
        ui.warn(notice);
    }
    app_of(ui, settings, plugins)
}

/// The same, in silence.
pub fn app_of(ui: &Arc<Ui>, settings: Settings, plugins: Vec<Plugin>) -> App {
    App::new(Arc::clone(ui), settings, plugins, &SlashCommands)
}
