//! What the guest `wasi` tries: the ways in which hosts of WASI were got round before.

/// Steps of one call, and what each has to answer; or the line with which the call fails.
pub type Steps = (&'static [&'static str], &'static [&'static str]);

/// One way to get round a host, in all its forms.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// What is tried, as a sentence that starts with the guest.
    pub tries: &'static str,
    /// What stops it.
    pub stopped: &'static str,
    /// The calls. Reading in the project is allowed, and nobody is there to be asked.
    pub calls: &'static [Steps],
}

/// All of them. They happen in a project with these files, and must leave it as it is:
///
/// ```text
/// README.md  diary.txt  .env  src/main.rs  empty/
/// link -> README.md   folder-link -> src   way-out -> ../outside/secret.txt   way-home -> ../config
/// ```
pub const WASI: &[Attempt] = &[
    Attempt {
        tries: "empties or makes a file that may only be read",
        stopped: "opening to change needs the right to write",
        calls: &[
            // Emptying is writing, whatever else is asked for.
            (&["open README.md t"], &["access"]),
            (&["open README.md rt"], &["access"]),
            (&["open link t"], &["access"]),
            (&["open README.md w"], &["access"]),
            (&["open README.md rwt"], &["access"]),
            (&["open new.txt c"], &["access"]),
            (&["open new.txt rc"], &["access"]),
            (&["open new.txt wcx"], &["access"]),
            (&["open README.md c"], &["access"]),
            (&["open src d", "open H:new.txt wc"], &["ok", "access"]),
            (&["open src dm", "open H:main.rs t"], &["ok", "access"]),
        ],
    },
    Attempt {
        tries: "writes through a handle for reading",
        stopped: "a handle for reading cannot write",
        calls: &[(
            &[
                "open README.md r",
                "write x",
                "append x",
                "pwrite x",
                "size 0",
                "times now",
                "read",
            ],
            &[
                "ok",
                "bad-descriptor",
                "bad-descriptor",
                "bad-descriptor",
                "bad-descriptor",
                "bad-descriptor",
                "Every bird knows this.",
            ],
        )],
    },
    Attempt {
        tries: "makes and removes folders and files",
        stopped: "each needs the right to write",
        calls: &[
            (&["mkdir new"], &["access"]),
            (&["mkdir new/"], &["access"]),
            (&["rmdir empty"], &["access"]),
            (&["rmdir empty/"], &["access"]),
            (&["unlink README.md"], &["access"]),
            (&["unlink link"], &["access"]),
        ],
    },
    Attempt {
        tries: "renames and links between folders of different rights",
        stopped: "both names need the right to write",
        calls: &[
            (&["rename README.md new.md"], &["access"]),
            (&["rename README.md link"], &["access"]),
            (&["rename link new"], &["access"]),
            (&["rename src new"], &["access"]),
            (
                &["open src d", "rename README.md H:README.md"],
                &["ok", "access"],
            ),
            (&["rename README.md R:/tmp/dunlin-readme"], &["access"]),
            (&["link README.md new.md"], &["access"]),
            (&["link link new.md"], &["access"]),
            (&["link-followed link new.md"], &["access"]),
            (
                &["open src d", "link README.md H:new.md"],
                &["ok", "access"],
            ),
            (&["symlink README.md new.md"], &["access"]),
        ],
    },
    Attempt {
        tries: "sets times of files that may only be read",
        stopped: "touching needs the right to write",
        calls: &[
            (&["times-at README.md now"], &["access"]),
            (&["times-at link 1"], &["access"]),
            (&["open src d", "times 1"], &["ok", "access"]),
            // Numbers that make no sense.
            (&["times-at README.md never"], &["overflow"]),
            (&["times-at README.md odd"], &["invalid"]),
        ],
    },
    Attempt {
        tries: "puts slashes behind names",
        stopped: "only a folder can be meant",
        calls: &[
            (&["open README.md/ r"], &["not-directory"]),
            (&["open README.md/ w"], &["is-directory"]),
            (&["open new.txt/ wc"], &["is-directory"]),
            (&["stat README.md/"], &["not-directory"]),
            (&["stat link/"], &["not-directory"]),
            (&["unlink README.md/"], &["is-directory"]),
            (&["unlink link/"], &["not-directory"]),
            (&["unlink folder-link/"], &["not-directory"]),
            (&["rmdir folder-link/"], &["not-directory"]),
            (&["rename link/ new"], &["not-directory"]),
            (&["rename folder-link/ new"], &["not-directory"]),
            (&["rename README.md/ new"], &["not-directory"]),
            (&["rename README.md new/"], &["not-directory"]),
            (&["rename README.md/. new"], &["not-directory"]),
            (&["link README.md new/"], &["not-directory"]),
            (&["link link/ new"], &["not-directory"]),
            (&["symlink README.md new/"], &["no-entry"]),
            (&["readlink folder-link/"], &["not-directory"]),
        ],
    },
    Attempt {
        tries: "makes links that lead out",
        stopped: "nobody makes them",
        calls: &[
            (&["symlink /etc/passwd new"], &["not-permitted"]),
            (&["symlink ../outside new"], &["not-permitted"]),
            (&["symlink way-out new"], &["not-permitted"]),
            (&["symlink ../../config src/new"], &["not-permitted"]),
            // What is missing on the way can become a link later.
            (&["symlink none/../README.md new"], &["not-permitted"]),
            (&["symlink ../none/../src src/new"], &["not-permitted"]),
        ],
    },
    Attempt {
        tries: "follows links and .. to what is not the project's",
        stopped: "the real file is what counts",
        calls: &[
            // What a program says of itself is not a right: only Dunlin's own folders are nobody's.
            (&["open way-home/tool.permissions.json r"], &["access"]),
            (&["open ../config/tool.permissions.json r"], &["access"]),
            (&["open R:/proc/self/environ r"], &["access"]),
            (&["stat way-home"], &["access"]),
            (&["open ../data dr"], &["access"]),
            (&["open way-out r"], &["access"]),
            (&["stat way-out"], &["access"]),
            (&["open .env r"], &["access"]),
            (&["open way-out rn"], &["loop"]),
            (&["open link rn"], &["loop"]),
            (&["open none r"], &["no-entry"]),
            (&["open README.md/below r"], &["not-directory"]),
        ],
    },
    Attempt {
        tries: "looks for variables, arguments, input and sockets",
        stopped: "the machine is empty",
        calls: &[(
            &["environment", "stdin", "sockets"],
            &[
                "[] [] None",
                "closed",
                "access-denied access-denied access-denied",
            ],
        )],
    },
    Attempt {
        tries: "takes handles, random bytes and output without end",
        stopped: "each is bounded",
        calls: &[
            (&["hoard"], &["true insufficient-memory"]),
            (
                &["random 65537"],
                &["wasi failed: wanted 65537 random bytes at once; at most 65536 are given"],
            ),
            (
                &["overwrite"],
                &["wasi failed: it wrote more than it was allowed to"],
            ),
        ],
    },
];
