//! From the types of this crate to those of the contract and back, and the macros that export a plugin.

use std::marker::PhantomData;

use crate::bindings::dunlin::tool::files::LineEdit as WireLineEdit;
use crate::bindings::dunlin::tool::types as wire_types;
use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::error::{Error, Failure, FailureKind};
use crate::need::{Need, Operation, Target};
use crate::plugin::{Action, Call, Content, Life, Parameters, Plan, Plugin, PluginInfo, ToolInfo};

/// Makes a plugin of one or more [`Tool`](crate::Tool)s. Once in a crate.
///
/// ```text
/// dunlin_sdk::export!(ReadFile);
/// dunlin_sdk::export!(List, Search, Replace);
/// ```
#[macro_export]
macro_rules! export {
    ($($tool:ty),+ $(,)?) => {
        const _: () = {
            struct Tools;

            impl $crate::Plugin for Tools {
                fn describe() -> $crate::PluginInfo {
                    $crate::PluginInfo::new(vec![$($crate::__private::info::<$tool>()),+])
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
    fn describe() -> wire::PluginInfo {
        P::describe().into()
    }

    fn prepare(call: wire::Call) -> Result<wire::Plan, wire::Failure> {
        Ok(P::prepare(call.into())?.into())
    }

    fn run(call: wire::Call) -> Result<Vec<wire::Content>, wire::Failure> {
        Ok(P::run(call.into())?
            .parts
            .into_iter()
            .map(wire::Content::from)
            .collect())
    }
}

impl From<PluginInfo> for wire::PluginInfo {
    fn from(info: PluginInfo) -> Self {
        let life = match info.life {
            Life::Call => wire::Life::Call,
            Life::Session => wire::Life::Session,
        };
        let tools = info.tools.into_iter().map(wire::ToolInfo::from).collect();
        Self {
            contract: info.contract,
            life,
            tools,
            annotations: info.annotations,
        }
    }
}

impl From<ToolInfo> for wire::ToolInfo {
    fn from(info: ToolInfo) -> Self {
        let parameters = match info.parameters {
            Parameters::Lines(text) => wire::Parameters::Lines(text.into_owned()),
            Parameters::JsonSchema(text) => wire::Parameters::JsonSchema(text.into_owned()),
        };
        Self {
            name: info.name,
            description: info.description,
            parameters,
            annotations: info.annotations,
        }
    }
}

impl From<wire::Call> for Call {
    fn from(call: wire::Call) -> Self {
        Self {
            tool: call.tool,
            arguments: call.arguments,
        }
    }
}

impl From<Plan> for wire::Plan {
    fn from(plan: Plan) -> Self {
        Self {
            question: plan.question,
            needs: plan.needs.into_iter().map(wire_types::Need::from).collect(),
            actions: plan.actions.into_iter().map(wire::Action::from).collect(),
        }
    }
}

impl From<Action> for wire::Action {
    fn from(action: Action) -> Self {
        match action {
            Action::Edit { path, edits } => Self::Edit(wire::FileEdit {
                path,
                edits: edits.into_iter().map(WireLineEdit::from).collect(),
            }),
            Action::Command(command) => Self::Command(command.into()),
        }
    }
}

impl From<Content> for wire::Content {
    fn from(content: Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text),
            Content::Blob { media_type, bytes } => Self::Blob(wire::Blob { media_type, bytes }),
        }
    }
}

impl From<Failure> for wire::Failure {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            FailureKind::InvalidArguments => wire::FailureKind::InvalidArguments,
            FailureKind::Denied => wire::FailureKind::Denied,
            FailureKind::NotFound => wire::FailureKind::NotFound,
            FailureKind::TooLarge => wire::FailureKind::TooLarge,
            FailureKind::Cancelled => wire::FailureKind::Cancelled,
            FailureKind::Failed => wire::FailureKind::Failed,
        };
        Self {
            kind,
            message: failure.message,
        }
    }
}

impl From<Need> for wire_types::Need {
    fn from(need: Need) -> Self {
        let target = match need.target {
            Target::Path(text) => wire_types::Target::Path(text),
            Target::Url(text) => wire_types::Target::Url(text),
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
            wire_types::Target::Url(text) => Target::Url(text),
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
            wire_types::Error::Cancelled => Self::Cancelled,
            wire_types::Error::Unsupported(text) => Self::Unsupported(text),
            wire_types::Error::Failed(text) => Self::Failed(text),
        }
    }
}
