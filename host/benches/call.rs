//! What a tool call costs, against the bare engine, in one run.
//!
//! The same component reads the same small file: once through the host, with schema, permission
//! store, audit log, limits and clock; once in a store of its own with nothing but the calls. The two
//! take turns, so that a noisy machine is noisy for both; medians are compared.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::ask::DenyAll;
use dunlin_host::call::{Call, PlanStatus};
use dunlin_host::{Host, HostOptions, Limits, NoProgress, Plugin};
use wasmtime::component::{Component, HasSelf, Linker, Resource, ResourceTable};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, Store,
};

mod bare {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "dunlin:tool/tool-types.call": super::Proposed,
            "dunlin:tool/files.file": super::OpenFile,
            "dunlin:tool/files.metadata": super::Metadata,
            "dunlin:tool/tool-types.output": super::Output,
        },
    });
}

use bare::dunlin::tool::tool_types::{CommandLine, Failure, Plan, PluginInfo, ToolInfo};
use bare::dunlin::tool::{chat, files, log, tool_types, types};

const ROUNDS: usize = 2_000;
const LINES: usize = 40;

/// A file without any checks around it.
#[derive(Debug)]
pub struct OpenFile(File);

/// The size of a file in bytes.
#[derive(Debug)]
pub struct Metadata(u64);

/// The arguments of a call.
#[derive(Debug)]
pub struct Proposed(String);

/// The text of a result.
#[derive(Debug, Default)]
pub struct Output(String);

struct Bare {
    table: ResourceTable,
}

type Answer<T> = Result<std::result::Result<T, types::Error>>;

impl types::Host for Bare {}

impl files::Host for Bare {
    fn open_read(&mut self, path: String) -> Answer<Resource<OpenFile>> {
        Ok(Ok(self.table.push(OpenFile(File::open(path)?))?))
    }
    fn list_folder(&mut self, _: String, _: u32) -> Answer<files::Listing> {
        unreachable!("read_file lists nothing")
    }
    fn stat(&mut self, _: String) -> Answer<Resource<Metadata>> {
        unreachable!("read_file opens what it looks at")
    }
    fn edit(&mut self, _: String, _: Vec<types::LineEdit>) -> Answer<files::Edited> {
        unreachable!("read_file changes nothing")
    }
    fn append_text(&mut self, _: String, _: String) -> Answer<files::Edited> {
        unreachable!("read_file changes nothing")
    }
    fn replace_text(&mut self, _: String, _: String, _: String) -> Answer<files::Edited> {
        unreachable!("read_file changes nothing")
    }
    fn replace_texts(&mut self, _: String, _: Vec<types::TextEdit>) -> Answer<files::Edited> {
        unreachable!("read_file changes nothing")
    }
    fn replace_lines(&mut self, _: String, _: String) -> Answer<files::Edited> {
        unreachable!("read_file changes nothing")
    }
    fn write_text(&mut self, _: String, _: String) -> Answer<files::Edited> {
        unreachable!("read_file changes nothing")
    }
    fn write_bytes(&mut self, _: String, _: Vec<u8>) -> Answer<()> {
        unreachable!("read_file changes nothing")
    }
    fn remove_file(&mut self, _: String) -> Answer<()> {
        unreachable!("read_file changes nothing")
    }
    fn rename_file(&mut self, _: String, _: String) -> Answer<()> {
        unreachable!("read_file changes nothing")
    }
    fn create_folder(&mut self, _: String) -> Answer<()> {
        unreachable!("read_file changes nothing")
    }
    fn remove_folder(&mut self, _: String) -> Answer<()> {
        unreachable!("read_file changes nothing")
    }
    fn make_planned_changes(&mut self) -> Answer<()> {
        unreachable!("read_file changes nothing")
    }
}

impl files::HostMetadata for Bare {
    fn kind(&mut self, _: Resource<Metadata>) -> Result<files::Kind> {
        Ok(files::Kind::File)
    }
    fn size_bytes(&mut self, metadata: Resource<Metadata>) -> Result<u64> {
        Ok(self.table.get(&metadata)?.0)
    }
    fn modified_ms(&mut self, _: Resource<Metadata>) -> Result<u64> {
        Ok(0)
    }
    fn history(&mut self, _: Resource<Metadata>) -> Result<files::History> {
        Ok(files::History::empty())
    }
    fn drop(&mut self, metadata: Resource<Metadata>) -> Result<()> {
        self.table.delete(metadata)?;
        Ok(())
    }
}

impl tool_types::Host for Bare {
    fn report_crash(&mut self, _: String) -> Result<()> {
        unreachable!("read_file does not crash")
    }
}

impl tool_types::HostCall for Bare {
    fn tool(&mut self, _: Resource<Proposed>) -> Result<String> {
        Ok("read_file".into())
    }
    fn arguments(&mut self, call: Resource<Proposed>) -> Result<String> {
        Ok(self.table.get(&call)?.0.clone())
    }
    fn drop(&mut self, call: Resource<Proposed>) -> Result<()> {
        self.table.delete(call)?;
        Ok(())
    }
}

impl tool_types::HostCommandLine for Bare {
    fn new(&mut self, _: String) -> Result<Resource<CommandLine>> {
        unreachable!("read_file runs nothing")
    }
    fn set_network(&mut self, _: Resource<CommandLine>, _: bool) -> Result<()> {
        unreachable!("read_file runs nothing")
    }
    fn drop(&mut self, _: Resource<CommandLine>) -> Result<()> {
        unreachable!("read_file runs nothing")
    }
}

impl tool_types::HostOutput for Bare {
    fn new(&mut self) -> Result<Resource<Output>> {
        Ok(self.table.push(Output::default())?)
    }
    fn add_text(&mut self, output: Resource<Output>, text: String) -> Result<()> {
        self.table.get_mut(&output)?.0.push_str(&text);
        Ok(())
    }
    fn add_blob(&mut self, _: Resource<Output>, _: String, _: Vec<u8>) -> Result<()> {
        unreachable!("read_file gives text")
    }
    fn set_structured(&mut self, _: Resource<Output>, _: String) -> Result<()> {
        unreachable!("read_file gives text")
    }
    fn drop(&mut self, output: Resource<Output>) -> Result<()> {
        self.table.delete(output)?;
        Ok(())
    }
}

impl tool_types::HostFailure for Bare {
    fn new(&mut self, _: tool_types::FailureKind, _: String) -> Result<Resource<Failure>> {
        unreachable!("read_file finds what it reads")
    }
    fn set_retry_after_ms(&mut self, _: Resource<Failure>, _: u64) -> Result<()> {
        unreachable!("read_file finds what it reads")
    }
    fn drop(&mut self, _: Resource<Failure>) -> Result<()> {
        unreachable!("read_file finds what it reads")
    }
}

impl tool_types::HostPlan for Bare {
    fn new(&mut self, _: String) -> Result<Resource<Plan>> {
        unreachable!("nothing is prepared")
    }
    fn add_need(&mut self, _: Resource<Plan>, _: types::Need) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_get(&mut self, _: Resource<Plan>, _: String, _: Vec<types::Header>) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_edit(&mut self, _: Resource<Plan>, _: String, _: Vec<types::LineEdit>) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_append(&mut self, _: Resource<Plan>, _: String, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_replace(&mut self, _: Resource<Plan>, _: String, _: String, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_replace_texts(
        &mut self,
        _: Resource<Plan>,
        _: String,
        _: Vec<types::TextEdit>,
    ) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_replace_lines(&mut self, _: Resource<Plan>, _: String, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_write(&mut self, _: Resource<Plan>, _: String, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_write_bytes(&mut self, _: Resource<Plan>, _: String, _: Vec<u8>) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_remove_file(&mut self, _: Resource<Plan>, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_rename_file(&mut self, _: Resource<Plan>, _: String, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_create_folder(&mut self, _: Resource<Plan>, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_remove_folder(&mut self, _: Resource<Plan>, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_change(&mut self, _: Resource<Plan>, _: String) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn add_command(&mut self, _: Resource<Plan>, _: Resource<CommandLine>) -> Result<()> {
        unreachable!("nothing is prepared")
    }
    fn drop(&mut self, _: Resource<Plan>) -> Result<()> {
        unreachable!("nothing is prepared")
    }
}

impl tool_types::HostPluginInfo for Bare {
    fn new(&mut self) -> Result<Resource<PluginInfo>> {
        unreachable!("nothing is described")
    }
    fn add_tool(&mut self, _: Resource<PluginInfo>, _: Resource<ToolInfo>) -> Result<()> {
        unreachable!("nothing is described")
    }
    fn set_settings_schema(&mut self, _: Resource<PluginInfo>, _: String) -> Result<()> {
        unreachable!("nothing is described")
    }
    fn drop(&mut self, _: Resource<PluginInfo>) -> Result<()> {
        unreachable!("nothing is described")
    }
}

impl tool_types::HostToolInfo for Bare {
    fn new(&mut self, _: String, _: String, _: String) -> Result<Resource<ToolInfo>> {
        unreachable!("nothing is described")
    }
    fn set_title(&mut self, _: Resource<ToolInfo>, _: String) -> Result<()> {
        unreachable!("nothing is described")
    }
    fn set_output_schema(&mut self, _: Resource<ToolInfo>, _: String) -> Result<()> {
        unreachable!("nothing is described")
    }
    fn set_destructive(&mut self, _: Resource<ToolInfo>, _: bool) -> Result<()> {
        unreachable!("nothing is described")
    }
    fn set_idempotent(&mut self, _: Resource<ToolInfo>, _: bool) -> Result<()> {
        unreachable!("nothing is described")
    }
    fn drop(&mut self, _: Resource<ToolInfo>) -> Result<()> {
        unreachable!("nothing is described")
    }
}

impl files::HostFile for Bare {
    fn metadata(&mut self, file: Resource<OpenFile>) -> Answer<Resource<Metadata>> {
        let size_bytes = self.table.get(&file)?.0.metadata()?.len();
        Ok(Ok(self.table.push(Metadata(size_bytes))?))
    }
    fn read_at(&mut self, file: Resource<OpenFile>, offset: u64, max: u32) -> Answer<Vec<u8>> {
        let file = &self.table.get(&file)?.0;
        let mut bytes = vec![0; (max as usize).min(file.metadata()?.len() as usize)];
        let read = file.read_at(&mut bytes, offset)?;
        bytes.truncate(read);
        Ok(Ok(bytes))
    }
    fn read_lines(
        &mut self,
        file: Resource<OpenFile>,
        first: u64,
        count: u32,
        _: u32,
        _: u32,
    ) -> Answer<files::Lines> {
        let text = std::io::read_to_string(&self.table.get(&file)?.0)?;
        let lines = text
            .lines()
            .skip(first as usize - 1)
            .take(count as usize)
            .map(|line| files::Line {
                text: line.to_owned(),
                omitted_bytes: 0,
            })
            .collect();
        Ok(Ok(files::Lines {
            lines,
            at_end: true,
        }))
    }
    fn count_lines(&mut self, _: Resource<OpenFile>) -> Answer<u64> {
        Ok(Ok(LINES as u64))
    }
    fn drop(&mut self, file: Resource<OpenFile>) -> Result<()> {
        self.table.delete(file)?;
        Ok(())
    }
}

impl log::Host for Bare {
    fn log(&mut self, _: log::Level, _: String) -> Result<()> {
        Ok(())
    }
}

impl chat::Host for Bare {
    fn progress(&mut self, _: String, _: Option<u8>) -> Result<()> {
        Ok(())
    }
    fn ask(&mut self, _: String, _: Vec<String>) -> Answer<String> {
        Ok(Ok(String::new()))
    }
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let root = std::fs::canonicalize(dir.path())?;
    let project = root.join("project");
    std::fs::create_dir_all(project.join("src"))?;
    let file = project.join("src/small.rs");
    let text: String = (0..LINES)
        .map(|n| format!("let line_{n} = {n};\n"))
        .collect();
    std::fs::write(&file, text)?;

    let embedded = dunlin_plugins::ALL
        .iter()
        .find(|embedded| embedded.name == "read_file")
        .expect("read_file is built in");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;

    // Dunlin. The grant is stored, so the whole store is consulted.
    let host = Host::new(
        HostOptions {
            project,
            is_project: true,
            home: None,
            search_path: Vec::new(),
            permissions_file: root.join("config/tool.permissions.json"),
            audit_file: root.join("data/audit.jsonl"),
            log_file: root.join("data/plugins.jsonl"),
            cache_dir: root.join("cache"),
            undo_dir: root.join("undo"),
            stores_dir: root.join("stores"),
            protected: Vec::new(),
            session: "bench".into(),
            mode: dunlin_host::permission::ModeSwitch::default(),
            limits: Limits::standard(),
            commands: dunlin_host::CommandOptions::none(),
            hooks: Vec::new(),
            web: dunlin_host::WebOptions::system("bench"),
            mcp: dunlin_host::mcp::McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
        },
        vec![Plugin {
            name: embedded.name.into(),
            bytes: embedded.bytes.into(),
            digest: embedded.digest.into(),
            built_in: true,
            origin: None,
            description: None,
            tools_digest: None,
        }],
    )
    .expect("a host");
    host.permissions()
        .set(&file.display().to_string(), "r--")
        .expect("a grant");
    let arguments = serde_json::json!({ "file_path": file.display().to_string() });
    let call = Call {
        id: "bench".into(),
        tool: "read_file".into(),
        arguments: arguments.clone(),
    };

    // The bare engine, with the pool that the host has.
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(16)
        .total_memories(16)
        .total_stacks(16)
        .max_memory_size(64 << 20)
        .linear_memory_keep_resident(256 << 10)
        .async_stack_keep_resident(256 << 10)
        .table_keep_resident(256 << 10);
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let engine = Engine::new(&config)?;
    let cold = Instant::now();
    let component = Component::new(&engine, embedded.bytes)?;
    let compiling = cold.elapsed();
    let mut linker = Linker::new(&engine);
    bare::dunlin::tool::types::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut Bare| {
        state
    })?;
    tool_types::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut Bare| state)?;
    files::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut Bare| state)?;
    log::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut Bare| state)?;
    chat::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut Bare| state)?;
    let pre = bare::PluginPre::new(linker.instantiate_pre(&component)?)?;
    let arguments = arguments.to_string();

    let cold = Instant::now();
    let (tools, errors) = runtime.block_on(host.tools());
    let described = cold.elapsed();
    assert!(errors.is_empty() && tools.len() == 1, "{errors:?}");

    let (mut bare_times, mut run_times, mut call_times) = (Vec::new(), Vec::new(), Vec::new());
    let mut texts = (String::new(), String::new());
    for _ in 0..ROUNDS {
        runtime.block_on(async {
            let start = Instant::now();
            let mut store = Store::new(
                &engine,
                Bare {
                    table: ResourceTable::new(),
                },
            );
            let instance = pre.instantiate_async(&mut store).await?;
            let proposed = Proposed(arguments.clone());
            let proposed = store.data_mut().table.push(proposed)?;
            let output = instance
                .dunlin_tool_tool()
                .call_run(&mut store, proposed)
                .await?;
            let output = output.map(|output| store.data_mut().table.delete(output));
            drop(store);
            bare_times.push(start.elapsed());
            if let Ok(output) = output {
                texts.0 = output?.0;
            }

            let plan = host.prepare(&call).await.expect("a plan");
            let start = Instant::now();
            let outcome = host
                .run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
                .await;
            run_times.push(start.elapsed());
            texts.1 = outcome.result.expect("a result").text;

            let start = Instant::now();
            let plan = host.prepare(&call).await.expect("a plan");
            assert_eq!(plan.status, PlanStatus::Allowed);
            let outcome = host
                .run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
                .await;
            call_times.push(start.elapsed());
            outcome.result.expect("a result");
            Ok::<(), wasmtime::Error>(())
        })?;
    }
    assert_eq!(texts.0, texts.1, "both read the same");
    let (bare, run, call) = (median(bare_times), median(run_times), median(call_times));
    println!(
        "compile read_file (bare engine)         {:>9.1} ms",
        compiling.as_secs_f64() * 1e3
    );
    println!(
        "first tool list, nothing cached         {:>9.1} ms",
        described.as_secs_f64() * 1e3
    );
    println!(
        "bare engine: store, run, drop           {:>9.1} us",
        micros(bare)
    );
    println!(
        "Dunlin: effect to result                {:>9.1} us   x {:.2}",
        micros(run),
        ratio(run, bare)
    );
    println!(
        "Dunlin: prepare, decide, effect, result {:>9.1} us   x {:.2}",
        micros(call),
        ratio(call, bare)
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}
