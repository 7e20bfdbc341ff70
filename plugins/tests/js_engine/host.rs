//! A host that pretends: files and a store in memory, a server with a few pages, a clock that the test moves.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use wasmtime::component::{Component, HasSelf, Linker, Resource, ResourceTable};
use wasmtime::{Config, Engine, ResourceLimiter, Result, Store};

use bindings::dunlin::tool::{app_page, clock, files, log, random, store, types, web};
pub use bindings::exports::dunlin::tool::app_program::{Error as Fault, Progress};
use types::{Error, Header, LineEdit, Need, Operation, Target, TextEdit};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "app",
        imports: { default: trappable },
        with: {
            "dunlin:tool/files.file": super::Contents,
            "dunlin:tool/files.metadata": super::Size,
            "dunlin:tool/web.request": super::RecordedRequest,
            "dunlin:tool/web.response": super::Answer,
        },
    });
}

/// Memory that an app may use: what a host gives by default.
const MEMORY_BYTES: usize = 64 << 20;

/// 2026-01-02T03:04:05.678Z
pub const NOW_MS: u64 = 1_767_323_045_678;

/// Ticks until a program that does not end is ended. Nothing ticks here.
const DEADLINE_TICKS: u64 = 1;

/// What is in a file.
pub struct Contents(Vec<u8>);

/// The size of a file.
pub struct Size(u64);

/// A request as the program made it.
#[derive(Debug, Clone, Default)]
pub struct RecordedRequest {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

pub struct Answer {
    url: String,
    status: u16,
    body: Vec<Vec<u8>>,
}

/// What the program can touch, and what came of it.
#[derive(Default)]
pub struct World {
    table: ResourceTable,
    pub files: BTreeMap<String, Vec<u8>>,
    pub kept: BTreeMap<String, Vec<u8>>,
    pub logged: Vec<String>,
    pub emitted: Vec<(String, String)>,
    pub asked: Vec<RecordedRequest>,
    pub now_ms: u64,
    /// What the engine's memory has grown to.
    pub memory_bytes: usize,
}

/// A program that runs.
pub struct App {
    store: Store<World>,
    bindings: bindings::App,
    calls: u64,
}

impl App {
    /// An engine without a program.
    pub fn empty() -> App {
        let (engine, pre) = compiled();
        let world = World {
            files: BTreeMap::from([
                ("notes.txt".to_owned(), "Grüße\n".into()),
                ("marked.txt".to_owned(), b"\xef\xbb\xbfmarked".to_vec()),
                ("picture.png".to_owned(), vec![0x89, 0x50, 0xff, 0x00]),
            ]),
            now_ms: NOW_MS,
            ..World::default()
        };
        let mut store = Store::new(engine, world);
        store.limiter(|world| world);
        store.set_epoch_deadline(DEADLINE_TICKS);
        let bindings = pre.instantiate(&mut store).expect("an instance");
        App {
            store,
            bindings,
            calls: 0,
        }
    }

    /// An engine, and how its program began.
    pub fn begun(source: &str) -> (App, std::result::Result<(), Fault>) {
        let mut app = App::empty();
        let begun = app.try_start(source).expect("the program does not trap");
        (app, begun)
    }

    /// A program that begins without an error.
    pub fn start(source: &str) -> App {
        let (app, begun) = App::begun(source);
        begun.expect("the program begins");
        app
    }

    pub fn try_start(&mut self, source: &str) -> Result<std::result::Result<(), Fault>> {
        let program = self.bindings.dunlin_tool_app_program();
        program.call_start(&mut self.store, source)
    }

    /// Calls a handler that does not wait.
    pub fn invoke(&mut self, name: &str, arguments: &str) -> std::result::Result<String, Fault> {
        self.begin(name, arguments).1.expect("it does not wait")
    }

    /// Calls a handler; the number of the call, and its outcome where it does not wait.
    pub fn begin(
        &mut self,
        name: &str,
        arguments: &str,
    ) -> (u64, Option<std::result::Result<String, Fault>>) {
        let call = self.calls;
        (call, self.try_invoke(name, arguments).expect("no trap"))
    }

    pub fn try_invoke(
        &mut self,
        name: &str,
        arguments: &str,
    ) -> Result<Option<std::result::Result<String, Fault>>> {
        let call = self.calls;
        self.calls += 1;
        let program = self.bindings.dunlin_tool_app_program();
        program.call_invoke(&mut self.store, call, name, arguments)
    }

    /// Lets time pass, and runs what is due then.
    pub fn after(&mut self, ms: u64) -> Progress {
        self.store.data_mut().now_ms += ms;
        let program = self.bindings.dunlin_tool_app_program();
        program.call_run_timers(&mut self.store).expect("no trap")
    }

    pub fn world(&mut self) -> &mut World {
        self.store.data_mut()
    }

    /// Has whatever runs next come to its deadline.
    pub fn out_of_time(&mut self) {
        self.store.set_epoch_deadline(0);
    }

    /// The names of all imports of the component.
    pub fn imports() -> Vec<String> {
        let (engine, pre) = compiled();
        let component = pre.instance_pre().component().component_type();
        component
            .imports(engine)
            .map(|(name, _)| name.to_owned())
            .collect()
    }
}

/// Compiling takes a second: once for all tests of a process.
fn compiled() -> &'static (Engine, bindings::AppPre<World>) {
    static COMPILED: OnceLock<(Engine, bindings::AppPre<World>)> = OnceLock::new();
    COMPILED.get_or_init(|| compile().expect("the component fits the contract"))
}

fn compile() -> Result<(Engine, bindings::AppPre<World>)> {
    let mut config = Config::new();
    config.concurrency_support(false).epoch_interruption(true);
    let engine = Engine::new(&config)?;
    let [engine_of_apps] = dunlin_plugins::app_engine::ALL else {
        panic!("there is one engine");
    };
    let component = Component::new(&engine, engine_of_apps.bytes)?;
    let mut linker = Linker::new(&engine);
    bindings::App::add_to_linker::<_, HasSelf<_>>(&mut linker, |world: &mut World| world)?;
    let pre = bindings::AppPre::new(linker.instantiate_pre(&component)?)?;
    Ok((engine, pre))
}

impl ResourceLimiter for World {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        let granted = desired <= MEMORY_BYTES;
        if granted {
            self.memory_bytes = desired;
        }
        Ok(granted)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(true)
    }
}

fn denied(target: Target, operation: Operation) -> Error {
    Error::Denied(Need { target, operation })
}

impl types::Host for World {}

impl app_page::Host for World {
    fn emit(&mut self, event: String, payload: String) -> Result<()> {
        self.emitted.push((event, payload));
        Ok(())
    }
}

impl clock::Host for World {
    fn now_ms(&mut self) -> Result<u64> {
        Ok(self.now_ms)
    }

    /// Two hours ahead from April on, and one before.
    fn utc_offset_minutes(&mut self, at_ms: u64) -> Result<i32> {
        const APRIL: u64 = 1_775_001_600_000;
        Ok(if at_ms < APRIL { 60 } else { 120 })
    }
}

impl random::Host for World {
    fn bytes(&mut self, count: u32) -> Result<Vec<u8>> {
        Ok((0..count).map(|index| index as u8 ^ 0xa5).collect())
    }
}

impl log::Host for World {
    fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        self.logged.push(format!("{level:?} {message}"));
        Ok(())
    }
}

impl store::Host for World {
    fn get(&mut self, name: String) -> Result<std::result::Result<Option<Vec<u8>>, Error>> {
        Ok(checked(&name).map(|()| self.kept.get(&name).cloned()))
    }

    fn put(&mut self, name: String, bytes: Vec<u8>) -> Result<std::result::Result<(), Error>> {
        Ok(checked(&name).map(|()| {
            self.kept.insert(name, bytes);
        }))
    }

    fn remove(&mut self, name: String) -> Result<std::result::Result<(), Error>> {
        Ok(checked(&name).map(|()| {
            self.kept.remove(&name);
        }))
    }

    fn entries(&mut self) -> Result<std::result::Result<Vec<store::Entry>, Error>> {
        Ok(Ok(Vec::new()))
    }
}

/// What the contract says of names in the store.
fn checked(name: &str) -> std::result::Result<(), Error> {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let valid = (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fits);
    if valid {
        Ok(())
    } else {
        Err(Error::Invalid(format!("invalid name '{name}'")))
    }
}

impl files::Host for World {
    fn open_read(
        &mut self,
        path: String,
    ) -> Result<std::result::Result<Resource<Contents>, Error>> {
        if path.starts_with("secret") {
            return Ok(Err(denied(Target::Path(path), Operation::Read)));
        }
        match self.files.get(&path).cloned() {
            Some(bytes) => Ok(Ok(self.table.push(Contents(bytes))?)),
            None => Ok(Err(Error::NotFound(format!("'{path}' does not exist")))),
        }
    }

    fn list_folder(
        &mut self,
        path: String,
        _max_entries: u32,
    ) -> Result<std::result::Result<files::Listing, Error>> {
        if path != "." {
            return Ok(Err(Error::WrongKind(format!("'{path}' is a file"))));
        }
        let entry = |(name, bytes): (&String, &Vec<u8>)| files::Entry {
            name: name.clone(),
            kind: files::Kind::File,
            size_bytes: bytes.len() as u64,
            modified_ms: NOW_MS,
        };
        Ok(Ok(files::Listing {
            entries: self.files.iter().map(entry).collect(),
            is_truncated: false,
        }))
    }

    fn stat(&mut self, path: String) -> Result<std::result::Result<Resource<Size>, Error>> {
        match self.files.get(&path) {
            Some(bytes) => Ok(Ok(self.table.push(Size(bytes.len() as u64))?)),
            None => Ok(Err(Error::NotFound(format!("'{path}' does not exist")))),
        }
    }

    fn write_text(
        &mut self,
        path: String,
        text: String,
    ) -> Result<std::result::Result<files::Edited, Error>> {
        if path.starts_with("secret") {
            return Ok(Err(denied(Target::Path(path), Operation::Write)));
        }
        let edited = files::Edited {
            created: !self.files.contains_key(&path),
            lines_before: 0,
            lines_after: text.lines().count() as u64,
        };
        self.files.insert(path, text.into_bytes());
        Ok(Ok(edited))
    }

    fn edit(
        &mut self,
        _: String,
        _: Vec<LineEdit>,
    ) -> Result<std::result::Result<files::Edited, Error>> {
        unused()
    }

    fn append_text(
        &mut self,
        _: String,
        _: String,
    ) -> Result<std::result::Result<files::Edited, Error>> {
        unused()
    }

    fn replace_text(
        &mut self,
        _: String,
        _: String,
        _: String,
    ) -> Result<std::result::Result<files::Edited, Error>> {
        unused()
    }

    fn replace_texts(
        &mut self,
        _: String,
        _: Vec<TextEdit>,
    ) -> Result<std::result::Result<files::Edited, Error>> {
        unused()
    }

    fn replace_lines(
        &mut self,
        _: String,
        _: String,
    ) -> Result<std::result::Result<files::Edited, Error>> {
        unused()
    }

    fn write_bytes(&mut self, _: String, _: Vec<u8>) -> Result<std::result::Result<(), Error>> {
        unused()
    }

    fn remove_file(&mut self, _: String) -> Result<std::result::Result<(), Error>> {
        unused()
    }

    fn rename_file(&mut self, _: String, _: String) -> Result<std::result::Result<(), Error>> {
        unused()
    }

    fn create_folder(&mut self, _: String) -> Result<std::result::Result<(), Error>> {
        unused()
    }

    fn remove_folder(&mut self, _: String) -> Result<std::result::Result<(), Error>> {
        unused()
    }

    fn make_planned_changes(&mut self) -> Result<std::result::Result<(), Error>> {
        unused()
    }
}

/// What no program can do.
fn unused<T>() -> Result<T> {
    Err(wasmtime::format_err!("the engine does not import this"))
}

impl files::HostFile for World {
    fn metadata(
        &mut self,
        _: Resource<Contents>,
    ) -> Result<std::result::Result<Resource<Size>, Error>> {
        unused()
    }

    /// In pieces of three bytes, whatever is asked for.
    fn read_at(
        &mut self,
        file: Resource<Contents>,
        offset: u64,
        _max: u32,
    ) -> Result<std::result::Result<Vec<u8>, Error>> {
        let rest = &self.table.get(&file)?.0[offset as usize..];
        Ok(Ok(rest[..rest.len().min(3)].to_vec()))
    }

    fn read_lines(
        &mut self,
        _: Resource<Contents>,
        _: u64,
        _: u32,
        _: u32,
        _: u32,
    ) -> Result<std::result::Result<files::Lines, Error>> {
        unused()
    }

    fn count_lines(&mut self, _: Resource<Contents>) -> Result<std::result::Result<u64, Error>> {
        unused()
    }

    fn drop(&mut self, file: Resource<Contents>) -> Result<()> {
        self.table.delete(file)?;
        Ok(())
    }
}

impl files::HostMetadata for World {
    fn kind(&mut self, _: Resource<Size>) -> Result<files::Kind> {
        Ok(files::Kind::File)
    }

    fn size_bytes(&mut self, size: Resource<Size>) -> Result<u64> {
        Ok(self.table.get(&size)?.0)
    }

    fn modified_ms(&mut self, _: Resource<Size>) -> Result<u64> {
        Ok(NOW_MS)
    }

    fn history(&mut self, _: Resource<Size>) -> Result<files::History> {
        unused()
    }

    fn drop(&mut self, size: Resource<Size>) -> Result<()> {
        self.table.delete(size)?;
        Ok(())
    }
}

impl web::Host for World {
    fn fetch(
        &mut self,
        request: Resource<RecordedRequest>,
    ) -> Result<std::result::Result<Resource<Answer>, Error>> {
        let asked = self.table.delete(request)?;
        self.asked.push(asked.clone());
        let answer = |status, body: &[u8]| Answer {
            url: asked.url.clone(),
            status,
            body: body.chunks(3).map(<[u8]>::to_vec).collect(),
        };
        let answer = match asked.url.as_str() {
            "https://example.com/json" => answer(200, "{\"wind\": \"süd\"}".as_bytes()),
            "https://example.com/echo" => answer(201, &asked.body),
            "https://example.com/gone" => answer(404, b"no such page"),
            "https://example.com/moved" => Answer {
                url: "https://example.com/there".to_owned(),
                ..answer(200, b"")
            },
            "https://down.example/" => {
                let message = "the server of 'down.example' cannot be reached";
                return Ok(Err(Error::Unavailable(message.to_owned())));
            }
            _ => return Ok(Err(denied(Target::Url(asked.url), Operation::Read))),
        };
        Ok(Ok(self.table.push(answer)?))
    }
}

impl web::HostRequest for World {
    fn new(&mut self, method: String, url: String) -> Result<Resource<RecordedRequest>> {
        Ok(self.table.push(RecordedRequest {
            method,
            url,
            ..RecordedRequest::default()
        })?)
    }

    fn add_header(&mut self, request: Resource<RecordedRequest>, header: Header) -> Result<()> {
        let headers = &mut self.table.get_mut(&request)?.headers;
        headers.push((header.name, header.value));
        Ok(())
    }

    fn set_body(&mut self, request: Resource<RecordedRequest>, body: Vec<u8>) -> Result<()> {
        self.table.get_mut(&request)?.body = body;
        Ok(())
    }

    fn drop(&mut self, request: Resource<RecordedRequest>) -> Result<()> {
        self.table.delete(request)?;
        Ok(())
    }
}

impl web::HostResponse for World {
    fn status(&mut self, response: Resource<Answer>) -> Result<u16> {
        Ok(self.table.get(&response)?.status)
    }

    fn url(&mut self, response: Resource<Answer>) -> Result<String> {
        Ok(self.table.get(&response)?.url.clone())
    }

    fn headers(&mut self, _: Resource<Answer>) -> Result<Vec<Header>> {
        Ok(vec![Header {
            name: "content-type".to_owned(),
            value: "text/plain".to_owned(),
        }])
    }

    fn read(
        &mut self,
        response: Resource<Answer>,
        _max: u32,
    ) -> Result<std::result::Result<Option<Vec<u8>>, Error>> {
        let body = &mut self.table.get_mut(&response)?.body;
        Ok(Ok((!body.is_empty()).then(|| body.remove(0))))
    }

    fn drop(&mut self, response: Resource<Answer>) -> Result<()> {
        self.table.delete(response)?;
        Ok(())
    }
}
