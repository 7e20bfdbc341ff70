//! Who reaches the socket of a chat: nobody but the user who opened it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dunlin_tests::{Environment, Provider, Response};
use serde_json::json;

use super::{run_folder, sockets};
use crate::stage::{Chat, environment};

#[test]
fn a_folder_that_others_can_look_into_is_not_used() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    fs::create_dir_all(run_folder(&environment)).expect("a folder");
    fs::set_permissions(run_folder(&environment), fs::Permissions::from_mode(0o755))
        .expect("a mode");
    let chat = Chat::open(&environment);
    chat.terminal.wait_for("must have 700");
    assert!(sockets(&environment).is_empty());
    let output = environment.run(["inspect", "--json"]);
    assert!(output.stderr.contains("must have 700"), "{output:?}");
    chat.leave();
}

/// Tries to connect to the sockets of all chats, and looks at their folder.
const REACH: &str = r#"
import glob, os, socket, sys
folder = sys.argv[1]
try:
    print('listed', os.listdir(folder))
except OSError as error:
    print('not listed', type(error).__name__)
for name in [sys.argv[2]]:
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.path.join(folder, name))
        print('REACHED', name)
    except OSError as error:
        print('not reached', type(error).__name__)
"#;

#[test]
fn no_tool_and_no_command_reaches_the_socket() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let chat = Chat::open(&environment);
    check_unreachable(&environment, &run_folder(&environment), None);
    chat.leave();
}

#[test]
fn no_tool_and_no_command_reaches_the_socket_in_the_runtime_folder() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let base = environment.root().join("runtime");
    fs::create_dir(&base).expect("a folder");
    let base = base.to_str().expect("a path");
    let command = environment.command::<&str>([]);
    let chat = Chat::of(command.variable(RUNTIME, base).terminal());
    check_unreachable(&environment, &Path::new(base).join("dunlin"), Some(base));
    chat.leave();
}

/// The folder of runtime files.
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// Neither a command, with and without the network, nor a tool reaches the one socket of this folder. `runtime`: what
/// [`RUNTIME`] is.
fn check_unreachable(environment: &Environment, folder: &Path, runtime: Option<&str>) {
    let run = |arguments: &[&str]| {
        let command = environment.command(arguments.iter().copied());
        match runtime {
            Some(runtime) => command.variable(RUNTIME, runtime).run(),
            None => command.run(),
        }
    };
    let script = environment.project_file("reach.py", REACH);
    let entry = fs::read_dir(folder).expect("a folder").next();
    let socket = entry.expect("a socket").expect("an entry").path();
    let name = socket
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    // The same script, outside of the sandbox.
    let reached = std::process::Command::new("python3")
        .arg(&script)
        .args([folder.as_os_str(), name.as_ref()])
        .output()
        .expect("python3");
    assert!(
        String::from_utf8_lossy(&reached.stdout).contains("REACHED"),
        "{reached:?}"
    );
    // A line that names Dunlin's folder is refused before it runs, so the script knows it.
    let arguments = format!("sys.argv[1:] = [{folder:?}, {name:?}]");
    let script = REACH.replace(
        "import glob, os, socket, sys",
        &format!("import os, socket, sys\n{arguments}"),
    );
    environment.project_file("reach.py", script);
    for network in [false, true] {
        let line = "python3 reach.py";
        let tool = ["--allow-tool", "run_terminal_command"];
        let provider = Provider::play([
            Response::call(
                "run_terminal_command",
                json!({"command": line, "network": network}),
            ),
            Response::reply("Done."),
        ]);
        environment.configure_for(&provider, &format!("[commands]\nnetwork = {network}"));
        let output = run(&["ask", tool[0], tool[1], "reach it"]);
        let requests = provider.requests();
        let result = requests
            .last()
            .and_then(|last| last.results().last().map(ToString::to_string));
        let result = result.unwrap_or_default();
        assert!(!result.contains("REACHED"), "{network}: {result} {output}");
        assert!(
            result.contains("not reached"),
            "{network}: {result} {output}"
        );
    }
    let explained = run(&["permissions", "explain", socket.to_str().expect("a path")]);
    assert!(explained.stdout.contains("never granted"), "{explained}");
    let arguments = json!({"file_path": socket}).to_string();
    let output = run(&["tools", "call", "read_file", "--args", &arguments]);
    assert_eq!(output.status, Some(3), "{output}");
}

/// Connects and prints what the chat says first.
const LISTEN: &str = "
import socket, sys
peer = socket.socket(socket.AF_UNIX)
try:
    peer.connect(sys.argv[1])
    print('connected', peer.recv(100))
except OSError as error:
    print('refused', type(error).__name__)
";

#[test]
fn another_user_is_refused() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        // Only the superuser can become somebody else.
        return;
    }
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let base = environment.root().join("outside");
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    open(environment.root(), 0o755);
    open(&base, 0o755);
    let command = environment.command::<&str>([]);
    let base_text = base.to_str().expect("a path");
    let chat = Chat::of(command.variable("XDG_RUNTIME_DIR", base_text).terminal());
    let folder = base.join("dunlin");
    let entry = fs::read_dir(&folder).expect("a folder").next();
    let socket = entry.expect("a socket").expect("an entry").path();
    let attempt = |user: u32| {
        let output = std::process::Command::new("python3")
            .args(["-c", LISTEN])
            .arg(&socket)
            .uid(user)
            .current_dir("/")
            .output()
            .expect("python3");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(attempt(0).contains("hello"));
    assert!(attempt(NOBODY).contains("refused PermissionError"));
    // Even where the folder and the socket let them in.
    open(&folder, 0o755);
    assert!(attempt(NOBODY).contains("refused PermissionError"));
    open(&socket, 0o666);
    let said = attempt(NOBODY);
    assert!(!said.contains("hello"), "{said}");
    chat.leave();
}
