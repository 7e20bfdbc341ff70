//! The resources of `tool-types`: what a plugin says of itself, of a call, and of its result.
//!
//! They only collect values until a function of the plugin returns them. What they hold lies in the host's memory, so its
//! size is bounded here.

use wasmtime::component::Resource;

use super::context::CallContext;
use super::refusal::written_text;
use crate::bindings::declared::{
    DeclaredAction, DeclaredCommand, DeclaredFailure, DeclaredGet, DeclaredOutput, DeclaredPart,
    DeclaredPlan, DeclaredPlugin, DeclaredTool, ProposedCall,
};
use crate::bindings::dunlin::tool::tool_types::{
    self, FailureKind, HostCall, HostCommandLine, HostFailure, HostOutput, HostPlan,
    HostPluginInfo, HostToolInfo,
};
use crate::bindings::dunlin::tool::types::{Header, LineEdit, Need, TextEdit};
use crate::edit::FileChange;
use crate::limits;

/// Ends a plugin that declares more than a host keeps.
#[derive(Debug, thiserror::Error)]
#[error("declared more than {} MiB", limits::MAX_DECLARED_BYTES / (1024 * 1024))]
pub(crate) struct DeclaredTooMuch;

/// What one value takes beside its text.
const OVERHEAD_BYTES: usize = 64;

impl CallContext {
    /// Counts what a plugin hands over to be kept, in several values with these lengths together.
    pub(super) fn declare(&mut self, values: usize, bytes: usize) -> wasmtime::Result<()> {
        let more = values.saturating_mul(OVERHEAD_BYTES).saturating_add(bytes);
        self.handles.declared_bytes = self.handles.declared_bytes.saturating_add(more);
        match self.handles.declared_bytes > limits::MAX_DECLARED_BYTES {
            true => Err(DeclaredTooMuch.into()),
            false => Ok(()),
        }
    }

    /// These are not kept any more.
    pub(super) fn release(&mut self, values: usize, bytes: usize) {
        let less = values.saturating_mul(OVERHEAD_BYTES).saturating_add(bytes);
        self.handles.declared_bytes = self.handles.declared_bytes.saturating_sub(less);
    }

    /// Takes over a command line that is not kept any more.
    pub(super) fn take_command(
        &mut self,
        own: Resource<DeclaredCommand>,
    ) -> wasmtime::Result<DeclaredCommand> {
        let command = self.handles.values.delete(own)?;
        self.release(1, command.line.len());
        Ok(command)
    }

    fn add_action(
        &mut self,
        plan: &Resource<DeclaredPlan>,
        action: DeclaredAction,
    ) -> wasmtime::Result<()> {
        self.handles.values.get_mut(plan)?.actions.push(action);
        Ok(())
    }

    /// Adds an edit, which consists of so many values and bytes beside its path.
    fn add_edit_of(
        &mut self,
        plan: &Resource<DeclaredPlan>,
        path: String,
        (values, bytes): (usize, usize),
        change: FileChange,
    ) -> wasmtime::Result<()> {
        self.declare(1 + values, path.len() + bytes)?;
        self.add_action(plan, DeclaredAction::Edit { path, change })
    }

    /// Makes a handle for a call that a function of the plugin gets.
    pub(crate) fn hand_over(
        &mut self,
        call: ProposedCall,
    ) -> wasmtime::Result<Resource<ProposedCall>> {
        Ok(self.handles.values.push(call)?)
    }

    /// Takes over what a function of the plugin returned.
    pub(crate) fn take<T: Send + 'static>(&mut self, own: Resource<T>) -> wasmtime::Result<T> {
        Ok(self.handles.values.delete(own)?)
    }
}

impl tool_types::Host for CallContext {
    fn report_crash(&mut self, mut message: String) -> wasmtime::Result<()> {
        message.truncate(message.floor_char_boundary(limits::MAX_FAILURE_BYTES));
        self.crash = Some(message);
        Ok(())
    }
}

impl HostToolInfo for CallContext {
    fn new(
        &mut self,
        name: String,
        description: String,
        parameters: String,
    ) -> wasmtime::Result<Resource<DeclaredTool>> {
        self.declare(1, name.len() + description.len() + parameters.len())?;
        let tool = DeclaredTool {
            name,
            description,
            parameters,
            ..DeclaredTool::default()
        };
        Ok(self.handles.values.push(tool)?)
    }

    fn set_title(&mut self, tool: Resource<DeclaredTool>, title: String) -> wasmtime::Result<()> {
        self.declare(1, title.len())?;
        self.handles.values.get_mut(&tool)?.title = Some(title);
        Ok(())
    }

    fn set_output_schema(
        &mut self,
        tool: Resource<DeclaredTool>,
        json_schema: String,
    ) -> wasmtime::Result<()> {
        self.declare(1, json_schema.len())?;
        self.handles.values.get_mut(&tool)?.output_schema = Some(json_schema);
        Ok(())
    }

    fn set_destructive(&mut self, tool: Resource<DeclaredTool>, is: bool) -> wasmtime::Result<()> {
        self.handles.values.get_mut(&tool)?.is_destructive = Some(is);
        Ok(())
    }

    fn set_idempotent(&mut self, tool: Resource<DeclaredTool>, is: bool) -> wasmtime::Result<()> {
        self.handles.values.get_mut(&tool)?.is_idempotent = Some(is);
        Ok(())
    }

    fn drop(&mut self, tool: Resource<DeclaredTool>) -> wasmtime::Result<()> {
        self.take(tool).map(drop)
    }
}

impl HostPluginInfo for CallContext {
    fn new(&mut self) -> wasmtime::Result<Resource<DeclaredPlugin>> {
        self.declare(1, 0)?;
        Ok(self.handles.values.push(DeclaredPlugin::default())?)
    }

    fn add_tool(
        &mut self,
        plugin: Resource<DeclaredPlugin>,
        tool: Resource<DeclaredTool>,
    ) -> wasmtime::Result<()> {
        let tool = self.take(tool)?;
        self.handles.values.get_mut(&plugin)?.tools.push(tool);
        Ok(())
    }

    fn set_settings_schema(
        &mut self,
        plugin: Resource<DeclaredPlugin>,
        json_schema: String,
    ) -> wasmtime::Result<()> {
        self.declare(1, json_schema.len())?;
        self.handles.values.get_mut(&plugin)?.settings_schema = Some(json_schema);
        Ok(())
    }

    fn drop(&mut self, plugin: Resource<DeclaredPlugin>) -> wasmtime::Result<()> {
        self.take(plugin).map(drop)
    }
}

impl HostCall for CallContext {
    fn tool(&mut self, call: Resource<ProposedCall>) -> wasmtime::Result<String> {
        Ok(self.handles.values.get(&call)?.tool.clone())
    }

    fn arguments(&mut self, call: Resource<ProposedCall>) -> wasmtime::Result<String> {
        Ok(self.handles.values.get(&call)?.arguments.clone())
    }

    fn drop(&mut self, call: Resource<ProposedCall>) -> wasmtime::Result<()> {
        self.handles.values.delete(call)?;
        Ok(())
    }
}

impl HostCommandLine for CallContext {
    fn new(&mut self, line: String) -> wasmtime::Result<Resource<DeclaredCommand>> {
        self.declare(1, line.len())?;
        let network = false;
        Ok(self
            .handles
            .values
            .push(DeclaredCommand { line, network })?)
    }

    fn set_network(
        &mut self,
        command: Resource<DeclaredCommand>,
        is_needed: bool,
    ) -> wasmtime::Result<()> {
        self.handles.values.get_mut(&command)?.network = is_needed;
        Ok(())
    }

    fn drop(&mut self, command: Resource<DeclaredCommand>) -> wasmtime::Result<()> {
        self.take_command(command).map(drop)
    }
}

impl HostPlan for CallContext {
    fn new(&mut self, question: String) -> wasmtime::Result<Resource<DeclaredPlan>> {
        self.declare(1, question.len())?;
        let plan = DeclaredPlan {
            question,
            ..DeclaredPlan::default()
        };
        Ok(self.handles.values.push(plan)?)
    }

    fn add_need(&mut self, plan: Resource<DeclaredPlan>, need: Need) -> wasmtime::Result<()> {
        self.declare(1, written_text(&need.target).len())?;
        self.handles.values.get_mut(&plan)?.needs.push(need);
        Ok(())
    }

    fn add_get(
        &mut self,
        plan: Resource<DeclaredPlan>,
        url: String,
        headers: Vec<Header>,
    ) -> wasmtime::Result<()> {
        let lengths = headers.iter().map(|it| it.name.len() + it.value.len());
        self.declare(1 + headers.len(), url.len() + lengths.sum::<usize>())?;
        let gets = &mut self.handles.values.get_mut(&plan)?.gets;
        gets.push(DeclaredGet { url, headers });
        Ok(())
    }

    fn add_edit(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        edits: Vec<LineEdit>,
    ) -> wasmtime::Result<()> {
        let bytes = edits.iter().map(|edit| edit.replacement.len()).sum();
        let size = (edits.len(), bytes);
        let edits = edits.into_iter().map(crate::edit::LineEdit::from);
        self.add_edit_of(&plan, path, size, FileChange::Lines(edits.collect()))
    }

    fn add_append(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        text: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, text.len()), FileChange::Append(text))
    }

    fn add_replace(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        old: String,
        new: String,
    ) -> wasmtime::Result<()> {
        let every = false;
        self.add_replace_texts(plan, path, vec![TextEdit { old, new, every }])
    }

    fn add_replace_texts(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        edits: Vec<TextEdit>,
    ) -> wasmtime::Result<()> {
        let bytes = edits.iter().map(|edit| edit.old.len() + edit.new.len());
        let size = (edits.len(), bytes.sum());
        let edits = edits.into_iter().map(crate::edit::TextEdit::from);
        self.add_edit_of(&plan, path, size, FileChange::Texts(edits.collect()))
    }

    fn add_replace_lines(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        text: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, text.len()), FileChange::AllLines(text))
    }

    fn add_write(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        text: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, text.len()), FileChange::Write(text))
    }

    fn add_write_bytes(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<()> {
        let size = (0, bytes.len());
        self.add_edit_of(&plan, path, size, FileChange::WriteBytes(bytes.into()))
    }

    fn add_remove_file(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, 0), FileChange::Remove)
    }

    fn add_rename_file(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
        to: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, to.len()), FileChange::Rename { to })
    }

    fn add_create_folder(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, 0), FileChange::CreateFolder)
    }

    fn add_remove_folder(
        &mut self,
        plan: Resource<DeclaredPlan>,
        path: String,
    ) -> wasmtime::Result<()> {
        self.add_edit_of(&plan, path, (0, 0), FileChange::RemoveFolder)
    }

    fn add_change(&mut self, plan: Resource<DeclaredPlan>, path: String) -> wasmtime::Result<()> {
        self.declare(1, path.len())?;
        self.add_action(&plan, DeclaredAction::EditLater { path })
    }

    fn add_command(
        &mut self,
        plan: Resource<DeclaredPlan>,
        command: Resource<DeclaredCommand>,
    ) -> wasmtime::Result<()> {
        let command = self.handles.values.delete(command)?;
        self.add_action(&plan, DeclaredAction::Command(command))
    }

    fn drop(&mut self, plan: Resource<DeclaredPlan>) -> wasmtime::Result<()> {
        self.take(plan).map(drop)
    }
}

impl HostFailure for CallContext {
    fn new(
        &mut self,
        kind: FailureKind,
        message: String,
    ) -> wasmtime::Result<Resource<DeclaredFailure>> {
        self.declare(1, message.len())?;
        let failure = DeclaredFailure {
            kind,
            message,
            retry_after_ms: None,
        };
        Ok(self.handles.values.push(failure)?)
    }

    fn set_retry_after_ms(
        &mut self,
        failure: Resource<DeclaredFailure>,
        milliseconds: u64,
    ) -> wasmtime::Result<()> {
        self.handles.values.get_mut(&failure)?.retry_after_ms = Some(milliseconds);
        Ok(())
    }

    fn drop(&mut self, failure: Resource<DeclaredFailure>) -> wasmtime::Result<()> {
        self.take(failure).map(drop)
    }
}

impl HostOutput for CallContext {
    fn new(&mut self) -> wasmtime::Result<Resource<DeclaredOutput>> {
        self.declare(1, 0)?;
        Ok(self.handles.values.push(DeclaredOutput::default())?)
    }

    fn add_text(&mut self, output: Resource<DeclaredOutput>, text: String) -> wasmtime::Result<()> {
        self.declare(1, text.len())?;
        let parts = &mut self.handles.values.get_mut(&output)?.parts;
        parts.push(DeclaredPart::Text(text));
        Ok(())
    }

    fn add_blob(
        &mut self,
        output: Resource<DeclaredOutput>,
        media_type: String,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<()> {
        self.declare(1, media_type.len() + bytes.len())?;
        let parts = &mut self.handles.values.get_mut(&output)?.parts;
        parts.push(DeclaredPart::Blob { media_type, bytes });
        Ok(())
    }

    fn set_structured(
        &mut self,
        output: Resource<DeclaredOutput>,
        json: String,
    ) -> wasmtime::Result<()> {
        self.declare(1, json.len())?;
        self.handles.values.get_mut(&output)?.structured = Some(json);
        Ok(())
    }

    fn drop(&mut self, output: Resource<DeclaredOutput>) -> wasmtime::Result<()> {
        self.take(output).map(drop)
    }
}
