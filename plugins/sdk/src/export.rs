//! From the types of this crate to those of the contract and back, and the macros that export a plugin.

use std::marker::PhantomData;

use crate::bindings::dunlin::tool::tool_types as own;
use crate::bindings::dunlin::tool::types::{self as wire_types, LineEdit as WireLineEdit};
use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::crash::report_panics;
use crate::error::{Error, Failure, FailureKind};
use crate::need::{Need, Operation, Target};
use crate::plugin::{Action, Call, Content, Output, Plan, Plugin, ToolInfo};

/// Makes a plugin of one or more [`Tool`](crate::Tool)s. Once in a crate.
///
/// ```text
/// dunlin_sdk::export!(ReadFile);
/// dunlin_sdk::export!(List, Search, Replace);
/// dunlin_sdk::export!(Diary; settings = Settings); // a type with a Schema, see `settings`
/// ```
#[macro_export]
macro_rules! export {
    ($($tool:ty),+ $(,)? $(; settings = $settings:ty)?) => {
        const _: () = {
            struct Tools;

            impl $crate::Plugin for Tools {
                fn describe() -> $crate::PluginInfo {
                    $crate::PluginInfo::new(vec![$($crate::__private::info::<$tool>()),+])
                        $(.with_settings::<$settings>())?
                }

                fn prepare(call: $crate::Call) -> Result<$crate::Plan, $crate::Failure> {
                    match call.tool.as_str() {
                        $(<$tool as $crate::Tool>::NAME => $crate::__private::prepare::<$tool>(&call.arguments),)+
                        tool => Err($crate::__private::unknown(tool)),
                    }
                }

                fn run(call: $crate::Call) -> Result<$crate::Output, $crate::Failure> {
                    match call.tool.as_str() {
                        $(<$tool as $crate::Tool>::NAME => $crate::__private::run::<$tool>(&call.arguments),)+
                        tool => Err($crate::__private::unknown(tool)),
                    }
                }
            }

            #[cfg(target_arch = "wasm32")]
            const _: () = {
                const SIZE: usize = $crate::__private::size(&[$($crate::__private::texts::<$tool>()),+]);
                // A custom section: it is never loaded into memory.
                #[used]
                #[unsafe(link_section = "dunlin:tools")]
                static SECTION: [u8; SIZE] = $crate::__private::write(&[$($crate::__private::texts::<$tool>()),+]);
            };

            $crate::export_plugin!(Tools);
        };
    };
}

/// Exports a [`Plugin`]. Once in a crate; nothing is exported outside of a component.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        const _: () = {
            type Exported = $crate::__private::Bridge<$plugin>;

            // Where nothing is exported the plugin still counts as used.
            const _: fn() -> $crate::PluginInfo = <$plugin as $crate::Plugin>::describe;

            #[cfg(target_arch = "wasm32")]
            $crate::__private::bindings::export_bindings!(
                Exported with_types_in $crate::__private::bindings
            );
        };
    };
}

/// Serves the contract with a [`Plugin`].
#[derive(Debug)]
pub struct Bridge<P>(PhantomData<P>);

impl<P: Plugin> wire::Guest for Bridge<P> {
    fn describe() -> own::PluginInfo {
        report_panics();
        let info = own::PluginInfo::new();
        let described = P::describe();
        for tool in described.tools {
            info.add_tool(tool.into());
        }
        if let Some(settings) = &described.settings {
            info.set_settings_schema(settings.as_str());
        }
        info
    }

    fn prepare(call: own::Call) -> Result<own::Plan, own::Failure> {
        report_panics();
        Ok(P::prepare(call.into())?.into())
    }

    fn run(call: own::Call) -> Result<own::Output, own::Failure> {
        report_panics();
        Ok(P::run(call.into())?.into())
    }
}

impl From<ToolInfo> for own::ToolInfo {
    fn from(info: ToolInfo) -> Self {
        let parameters = info.parameters.as_str();
        let tool = own::ToolInfo::new(&info.name, &info.description, parameters);
        if let Some(title) = &info.title {
            tool.set_title(title);
        }
        if let Some(schema) = &info.output_schema {
            tool.set_output_schema(schema);
        }
        if let Some(is_destructive) = info.is_destructive {
            tool.set_destructive(is_destructive);
        }
        if let Some(is_idempotent) = info.is_idempotent {
            tool.set_idempotent(is_idempotent);
        }
        tool
    }
}

impl From<own::Call> for Call {
    fn from(call: own::Call) -> Self {
        Self {
            tool: call.tool(),
            arguments: call.arguments(),
        }
    }
}

impl From<Plan> for own::Plan {
    fn from(plan: Plan) -> Self {
        let own = own::Plan::new(&plan.question);
        for need in plan.needs {
            own.add_need(&need.into());
        }
        for action in plan.actions {
            match action {
                Action::Get(request) => own.add_get(request.url(), &request.wire_headers()),
                Action::Edit { path, edits } => {
                    let edits: Vec<_> = edits.into_iter().map(WireLineEdit::from).collect();
                    own.add_edit(&path, &edits);
                }
                Action::Append { path, text } => own.add_append(&path, &text),
                Action::Replace { path, old, new } => own.add_replace(&path, &old, &new),
                Action::ReplaceTexts { path, edits } => {
                    let edits: Vec<_> = edits.into_iter().map(Into::into).collect();
                    own.add_replace_texts(&path, &edits)
                }
                Action::ReplaceLines { path, text } => own.add_replace_lines(&path, &text),
                Action::Write { path, text } => own.add_write(&path, &text),
                Action::WriteBytes { path, bytes } => own.add_write_bytes(&path, &bytes),
                Action::Remove { path } => own.add_remove_file(&path),
                Action::Rename { path, to } => own.add_rename_file(&path, &to),
                Action::CreateFolder { path } => own.add_create_folder(&path),
                Action::RemoveFolder { path } => own.add_remove_folder(&path),
                Action::Change { path } => own.add_change(&path),
                Action::Command(command) => own.add_command(command.into()),
            }
        }
        own
    }
}

impl From<Output> for own::Output {
    fn from(output: Output) -> Self {
        let own = own::Output::new();
        for part in &output.parts {
            match part {
                Content::Text(text) => own.add_text(text),
                Content::Blob { media_type, bytes } => own.add_blob(media_type, bytes),
            }
        }
        if let Some(structured) = &output.structured {
            own.set_structured(structured);
        }
        own
    }
}

impl From<Failure> for own::Failure {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            FailureKind::InvalidArguments => own::FailureKind::InvalidArguments,
            FailureKind::Denied => own::FailureKind::Denied,
            FailureKind::NotFound => own::FailureKind::NotFound,
            FailureKind::TooLarge => own::FailureKind::TooLarge,
            FailureKind::Conflict => own::FailureKind::Conflict,
            FailureKind::TimedOut => own::FailureKind::TimedOut,
            FailureKind::Unavailable => own::FailureKind::Unavailable,
            FailureKind::Unsupported => own::FailureKind::Unsupported,
            FailureKind::Cancelled => own::FailureKind::Cancelled,
            FailureKind::Failed => own::FailureKind::Failed,
        };
        let own = own::Failure::new(kind, &failure.message);
        if let Some(time) = failure.retry_after {
            own.set_retry_after_ms(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        }
        own
    }
}

impl From<Need> for wire_types::Need {
    fn from(need: Need) -> Self {
        let target = match need.target {
            Target::Path(text) => wire_types::Target::Path(text),
            Target::Folder(text) => wire_types::Target::Folder(text),
            Target::Url(text) => wire_types::Target::Url(text),
            Target::Site(text) => wire_types::Target::Site(text),
            Target::Program(text) => wire_types::Target::Program(text),
        };
        let operation = match need.operation {
            Operation::Read => wire_types::Operation::Read,
            Operation::Write => wire_types::Operation::Write,
            Operation::Execute => wire_types::Operation::Execute,
        };
        Self { target, operation }
    }
}

impl From<wire_types::Need> for Need {
    fn from(need: wire_types::Need) -> Self {
        let target = match need.target {
            wire_types::Target::Path(text) => Target::Path(text),
            wire_types::Target::Folder(text) => Target::Folder(text),
            wire_types::Target::Url(text) => Target::Url(text),
            wire_types::Target::Site(text) => Target::Site(text),
            wire_types::Target::Program(text) => Target::Program(text),
        };
        let operation = match need.operation {
            wire_types::Operation::Read => Operation::Read,
            wire_types::Operation::Write => Operation::Write,
            wire_types::Operation::Execute => Operation::Execute,
        };
        Self { target, operation }
    }
}

impl From<wire_types::Error> for Error {
    fn from(error: wire_types::Error) -> Self {
        match error {
            wire_types::Error::Denied(need) => Self::Denied(need.into()),
            wire_types::Error::NotFound(text) => Self::NotFound(text),
            wire_types::Error::WrongKind(text) => Self::WrongKind(text),
            wire_types::Error::Invalid(text) => Self::Invalid(text),
            wire_types::Error::TooLarge(text) => Self::TooLarge(text),
            wire_types::Error::Conflict(text) => Self::Conflict(text),
            wire_types::Error::TimedOut(text) => Self::TimedOut(text),
            wire_types::Error::Unavailable(text) => Self::Unavailable(text),
            wire_types::Error::Cancelled => Self::Cancelled,
            wire_types::Error::Unsupported(text) => Self::Unsupported(text),
            wire_types::Error::Failed(text) => Self::Failed(text),
        }
    }
}
