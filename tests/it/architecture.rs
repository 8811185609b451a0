//! Checks the structure of `src/`: which module may depend on which, where a crate may be used, and which names are retired.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules that each top-level module may depend on. A new module needs a row here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("phrases", &["domain", "uimessage"]),
    ("uimessage", &["domain"]),
    ("render", &["domain", "phrases"]),
    ("policy", &["domain", "phrases"]),
    ("search", &[]),
    ("fail_point", &[]),
    ("audio", &[]),
    ("voice", &["audio", "domain", "http_client", "ports", "render", "sandbox"]),
    ("ports", &["domain", "uimessage", "policy", "metrics"]),
    ("blocking", &["domain"]),
    ("files", &["domain", "policy"]),
    ("permissions", &["domain", "phrases", "policy", "ports", "files", "blocking"]),
    ("http_client", &[]),
    ("memory_release", &[]),
    ("metrics", &["domain"]),
    ("turn", &["domain", "uimessage", "render", "ports", "policy"]),
    ("groups", &["domain", "uimessage", "ports"]),
    ("distil", &["domain", "uimessage", "policy", "ports", "search"]),
    (
        "threads",
        &[
            "distil",
            "domain",
            "fail_point",
            "groups",
            "uimessage",
            "render",
            "ports",
            "turn",
            "metrics",
            "telemetry",
            "policy",
            "memory_release",
        ],
    ),
    ("tasks", &["domain", "phrases", "uimessage", "ports", "fail_point"]),
    ("config", &["domain", "phrases", "policy", "ports", "tools"]),
    ("store", &["domain", "uimessage", "ports", "policy", "search", "fail_point"]),
    ("onboarding", &["config", "domain", "fail_point", "http_client", "model", "phrases", "ports"]),
    ("model", &["domain", "phrases", "uimessage", "ports", "http_client", "usage", "fail_point"]),
    ("usage", &["domain", "phrases", "ports", "metrics", "render"]),
    ("sandbox", &["domain"]),
    ("tools", &["domain", "uimessage", "ports", "policy", "sandbox", "files", "blocking"]),
    ("telemetry", &["domain"]),
    (
        "adapters",
        &[
            "audio",
            "domain",
            "groups",
            "phrases",
            "uimessage",
            "render",
            "ports",
            "metrics",
            "http_client",
            "blocking",
        ],
    ),
    ("signals", &[]),
    ("notify", &[]),
    ("cli", &["domain", "phrases"]),
    ("build", &[]),
    ("app", ANYTHING),
    ("adapter_setup", ANYTHING),
    ("daemon_parts", ANYTHING),
    ("environment", ANYTHING),
    ("model_setup", ANYTHING),
    ("policy_setup", ANYTHING),
    ("group_setup", ANYTHING),
    ("reload", ANYTHING),
    ("voice_setup", ANYTHING),
    ("commands", ANYTHING),
    ("program", ANYTHING),
    ("main", ANYTHING),
    ("lib", ANYTHING),
];

const ANYTHING: &[&str] = &["*"];

/// Modules without I/O: no runtime, no files, no sockets.
const PURE: &[&str] =
    &["audio", "domain", "uimessage", "render", "policy", "search", "turn", "distil", "groups"];
const IO: &[&str] = &["tokio::", "reqwest::", "std::fs", "std::net", "std::process", "axum::"];

/// Crates that only one module may use.
const CONFINED: &[(&str, &str)] =
    &[("async_openai", "model"), ("axum::", "adapters/web"), ("clap", "cli"), ("rusqlite", "store")];

fn sources() -> BTreeMap<PathBuf, String> {
    sources_in("src")
}

/// The Rust files below a folder of the project.
fn sources_in(folder: &str) -> BTreeMap<PathBuf, String> {
    fn walk(dir: &Path, out: &mut BTreeMap<PathBuf, String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut out);
    assert!(out.len() > 2, "the sources were not found");
    out
}

fn relative(path: &Path) -> String {
    path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

fn module(relative: &str) -> &str {
    relative.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The lines of a file that are neither comments nor tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let body = text.split("#[cfg(test)]").next().unwrap_or_default();
    body.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn is_test_file(relative: &str) -> bool {
    relative.contains("/tests/") || relative.ends_with("tests.rs") || relative.ends_with("testing.rs")
}

#[test]
fn modules_depend_only_on_the_layers_below_them() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if is_test_file(&relative) {
            continue;
        }
        let allowed =
            MAY_USE.iter().find(|(name, _)| *name == module(&relative)).map(|(_, allowed)| *allowed);
        let Some(allowed) = allowed else {
            faults.push(format!("{relative}: MAY_USE has no row for this module"));
            continue;
        };
        for line in code(&text) {
            for used in line.split("crate::").skip(1) {
                let name: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let permitted =
                    allowed == ANYTHING || allowed.contains(&name.as_str()) || name == module(&relative);
                if !permitted && MAY_USE.iter().any(|(module, _)| *module == name) {
                    faults.push(format!("{relative} names {name}: {}", line.trim()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn pure_modules_do_no_io() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if !PURE.contains(&module(&relative)) || is_test_file(&relative) {
            continue;
        }
        for line in code(&text) {
            faults.extend(
                IO.iter().filter(|name| line.contains(**name)).map(|name| format!("{relative} uses {name}")),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Who touches files, and which. State under `.ship/` is the store's alone: others use the ports of `State`.
const FILE_ACCESS: &[(&str, &str)] = &[
    ("build.rs", "the sources of the page, at build time"),
    ("store/", "state under .ship/, and Agent.md by a reader that it is given"),
    ("files/", "files of the project by resolved paths; of .ship/ only the thread's own attachments"),
    ("tools/", "files of the project through files/; scratch folders of commands outside the project"),
    ("permissions/digests.rs", "files of the project through files/"),
    ("sandbox/", "mounts, /proc, control groups; hides .ship/ from commands"),
    ("memory_release.rs", "/proc/self/smaps"),
    ("config/", "ship.json, .env, Agent.md"),
    ("voice/program.rs", "temporary folders of speech programs"),
    ("onboarding/", "files of a new project"),
    ("commands/doctor/", "modes and disk space"),
    ("commands/man.rs", "the folder that the packager names"),
    ("commands/service/", "units of systemd, /etc/passwd"),
    ("commands/threads/export.rs", "the file that the person names"),
    ("commands/chat/", "the terminal, standard input"),
    ("adapters/telegram/attachments.rs", "files that a Bot API server on this machine offers"),
    ("commands/memory/import.rs", "reads the files that the operator imports"),
    ("commands/memory/export.rs", "the folder that the operator names"),
    ("commands/memory/change.rs", "the file that the operator names, and one for their editor"),
];
const OPENS_FILES: &[&str] = &[
    "std::fs",
    "tokio::fs",
    "rustix::fs",
    "fs::read",
    "fs::write",
    "File::open",
    "File::create",
    "OpenOptions",
    "DirBuilder",
    "tempfile",
    "read_dir(",
    "remove_file(",
    "create_dir",
    "replace_file",
    "private_dir",
];

/// The places outside the store that name a path under `.ship/`, and why. None of them opens it.
const STATE_PATHS: &[(&str, &str)] = &[
    ("config/load.rs", "the directory itself"),
    ("commands/cli_context.rs", "the directory itself"),
    ("commands/doctor/report.rs", "the directory itself"),
    ("commands/memory/show.rs", "shown to the operator"),
    ("commands/memory/change.rs", "shown to the operator"),
    ("adapter_setup.rs", "an identity for the page's stored logins"),
    ("files/resolve.rs", "the one folder of .ship/ that a thread's tools may read"),
    ("tools/exec_shell/tool.rs", "shown to commands inside the sandbox"),
];

#[test]
fn only_the_store_opens_files_under_the_state_directory() {
    let within =
        |list: &[(&str, &str)], relative: &str| list.iter().any(|(home, _)| relative.starts_with(home));
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if is_test_file(&relative) {
            continue;
        }
        for line in code(&text) {
            let opens = OPENS_FILES.iter().any(|name| line.contains(name));
            if opens && !within(FILE_ACCESS, &relative) {
                faults.push(format!("{relative} opens files: {}", line.trim()));
            }
            let names_state = line.contains("join(\".ship")
                || line.contains("\".ship/files")
                || line.contains("state.join(");
            let is_store = relative.starts_with("store/");
            if names_state && !is_store && !within(STATE_PATHS, &relative) {
                faults.push(format!("{relative} names a path under .ship/: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn ports_have_no_path_types() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        // Tools work on the project's files; their context names its directory.
        if relative.starts_with("ports/") && relative != "ports/tool.rs" {
            let paths = code(&text).filter(|line| line.contains("PathBuf") || line.contains("std::path"));
            faults.extend(paths.map(|line| format!("{relative}: {}", line.trim())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn confined_crates_are_used_by_one_module_only() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        for (name, home) in CONFINED {
            let confined = relative.starts_with(home)
                || (*home == "cli" && relative.starts_with("commands/"))
                || relative == "main.rs";
            let uses = || {
                code(&text).any(|line| {
                    line.trim_start().starts_with("use ") && line.contains(&format!("use {name}"))
                })
            };
            if !confined && uses() {
                faults.push(format!("{relative} uses {name}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_file_has_module_documentation_and_mod_files_have_no_logic() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if !text.starts_with("//!") {
            faults.push(format!("{relative} has no module documentation"));
        }
        if relative.ends_with("mod.rs")
            && code(&text).any(|line| line.trim_start().starts_with("fn ") || line.contains("pub fn "))
        {
            faults.push(format!("{relative} has logic"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn core_names_no_platform() {
    let core = ["domain", "uimessage", "render", "turn", "threads"];
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        if !core.contains(&module(&relative)) || is_test_file(&relative) {
            continue;
        }
        for line in code(&text) {
            let low = line.to_lowercase();
            if ["telegram", "feishu", "lark", "\"qq\""].iter().any(|name| low.contains(name)) {
                faults.push(format!("{relative}: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Files besides a platform's own folder that may name it, and why. Adding a platform touches only the first two.
const NAME_PLATFORMS: &[(&str, &str)] = &[
    ("adapters/mod.rs", "declares the module of each platform"),
    ("adapters/table.rs", "is the table: one line for each platform"),
    ("phrases/page.rs", "has the page's names of channels; one without is shown by its id"),
    ("phrases/console_setup.rs", "says where the credentials come from; a platform without has no hint"),
];

/// Ids in texts that show people what an id looks like.
const EXAMPLE_IDS: &[&str] = &["telegram:user:", "telegram:chat:"];

#[test]
fn nothing_but_its_folder_and_the_table_names_a_platform() {
    let table = shipagent::adapters::builtin();
    let names: Vec<&str> =
        table.iter().flat_map(|def| [def.name].into_iter().chain(def.aliases.iter().copied())).collect();
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let relative = relative(&path);
        let own_folder = names.iter().any(|name| relative.starts_with(&format!("adapters/{name}/")));
        let excepted = NAME_PLATFORMS.iter().any(|(file, _)| *file == relative);
        if own_folder || excepted || is_test_file(&relative) {
            continue;
        }
        for line in code(&text) {
            let low = EXAMPLE_IDS.iter().fold(line.to_lowercase(), |line, id| line.replace(id, ""));
            let mut words = low.split(|c: char| !c.is_alphanumeric());
            if words.any(|word| names.iter().any(|name| word.starts_with(name)) || word == "irc") {
                faults.push(format!("{relative}: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (file, reason) in NAME_PLATFORMS {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file).is_file(), "{file}: {reason}");
    }
}

#[test]
fn the_architecture_page_names_files_that_exist() {
    fn walk(dir: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else {
                out.push(format!("/{}", path.to_string_lossy()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for dir in ["src", "tests", "examples", "benches"] {
        walk(&root.join(dir), &mut files);
    }
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let named = page.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs"));
    let missing: Vec<&str> =
        named.filter(|name| !files.iter().any(|file| file.ends_with(&format!("/{name}")))).collect();
    assert!(missing.is_empty(), "docs/architecture.md names files that do not exist: {missing:?}");
}

/// The text of the page about a path that it counts: from `crosses N files` to the next one.
fn counted_paths(page: &str) -> Vec<(usize, usize, &str)> {
    let number = |text: &str| text.split(' ').next().and_then(|word| word.parse().ok()).unwrap();
    let end = page.find("And the reply:").unwrap();
    let paths = page.get(..end).unwrap().split(" crosses ").skip(1);
    paths.map(|path| (number(path), number(path.split(" files and ").nth(1).unwrap()), path)).collect()
}

#[test]
fn the_architecture_page_counts_the_files_and_envelopes_that_it_lists() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).unwrap();
    let paths = counted_paths(&page);
    assert_eq!(paths.len(), 4);
    for (files, envelopes, path) in paths {
        // The last paragraph of a part begins the next path.
        let path = path.rsplit_once("\n\n").map_or(path, |(path, _)| path);
        let path = path.split("By webhook:").next().unwrap();
        let names: Vec<&str> = path.split('`').skip(1).step_by(2).collect();
        let listed: BTreeSet<&&str> = names.iter().filter(|name| name.ends_with(".rs")).collect();
        assert_eq!(listed.len(), files, "{listed:#?}");
        let bold = path.split("**`").skip(1).map(|rest| rest.split('`').next().unwrap());
        let bold: BTreeSet<&str> = bold.collect();
        assert_eq!(bold.len(), envelopes, "{bold:?}");
    }
}

#[test]
fn the_architecture_page_shows_every_part_of_the_source_tree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let tree = page.split("```").nth(1).unwrap();
    let mut missing: Vec<String> = std::fs::read_dir(root.join("src"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path().is_dir()))
        .filter(|(name, _)| !["build.rs", "lib.rs", "main.rs"].contains(&name.as_str()))
        .map(|(name, is_dir)| if is_dir { format!("{name}/") } else { name })
        .filter(|name| !tree.contains(name.as_str()))
        .collect();
    missing.sort();
    assert!(missing.is_empty(), "docs/architecture.md does not show {missing:?}");
}

/// Names that were replaced by domain terms. No type, function or file may carry one of them again.
const RETIRED_TYPES: &[&str] = &[
    "Ability",
    "ActorMsg",
    "Among",
    "Aside",
    "AskError",
    "Attention",
    "Bell",
    "Berth",
    "Brought",
    "Brush",
    "Canvas",
    "Care",
    "Clerk",
    "Complaints",
    "Courier",
    "Debt",
    "Deciders",
    "Desk",
    "DiscreetModel",
    "Door",
    "DownloadMethod",
    "Eased",
    "Faceless",
    "Farewell",
    "Fate",
    "Finder",
    "First",
    "FirstLook",
    "Fresh",
    "Gate",
    "Gone",
    "Grain",
    "GuestList",
    "Guests",
    "Handed",
    "Happened",
    "Happening",
    "Haste",
    "Heard",
    "Hearing",
    "Incoming",
    "InnerDoor",
    "Kept",
    "Knock",
    "Lane",
    "Lanes",
    "Leave",
    "Lent",
    "Letter",
    "Lifeline",
    "Lines",
    "Lives",
    "Look",
    "Looker",
    "Mail",
    "Matter",
    "Moody",
    "News",
    "NoChance",
    "Noon",
    "Notebook",
    "Order",
    "Paper",
    "Parcel",
    "Parrot",
    "Passing",
    "Place",
    "Placed",
    "Post",
    "Reception",
    "RestingThreads",
    "Retired",
    "Retirement",
    "Rows",
    "Saying",
    "SayingSource",
    "Screen",
    "Scribe",
    "Seal",
    "Seat",
    "SerializedCommit",
    "Shelf",
    "Sight",
    "Standing",
    "Strangers",
    "Stroke",
    "Sure",
    "Surgery",
    "Teller",
    "Theatre",
    "Ticket",
    "Told",
    "ToldCall",
    "Touched",
    "Trace",
    "Trail",
    "Tried",
    "Trouble",
    "Typist",
    "Unfit",
    "Unsettled",
    "Veil",
    "Visit",
    "Wake",
    "Waves",
    "Way",
    "Wish",
    "Woken",
    "Workshop",
    "World",
    "Wound",
];
const RETIRED_FUNCTIONS: &[&str] = &[
    "arrivals",
    "came_further",
    "dressed",
    "end_quietly",
    "go_around",
    "got_in",
    "governing",
    "hand_in",
    "harmless",
    "is_untrue",
    "ladder",
    "let_go",
    "lift",
    "may_go_plainer",
    "obey",
    "overheard",
    "paint",
    "painted",
    "patiently",
    "patiently_but_once_more",
    "remembering",
    "see_through",
    "seek",
    "shelf",
    "thing",
    "try_to_heal",
    "vouch",
];
const RETIRED_FILES: &[&str] = &[
    "arrivals.rs",
    "attention.rs",
    "berth.rs",
    "clerk.rs",
    "company.rs",
    "desk.rs",
    "discreet.rs",
    "door.rs",
    "endings.rs",
    "fresh.rs",
    "governing.rs",
    "growing.rs",
    "guests.rs",
    "hand_in.rs",
    "happened.rs",
    "heard.rs",
    "lanes.rs",
    "letter.rs",
    "live.rs",
    "notebook.rs",
    "perform.rs",
    "reception.rs",
    "remembering.rs",
    "safeguards.rs",
    "scribe.rs",
    "shelf.rs",
    "sight.rs",
    "stage.rs",
    "stroke.rs",
    "teller.rs",
    "trail.rs",
    "unsettled.rs",
    "workshop.rs",
    "wound.rs",
];

/// The name that a line defines with one of these keywords.
fn defined_name<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    words.find(|word| keywords.contains(word))?;
    words.next()
}

/// In the fakes of the platforms these are what people do: where they write, and what they post.
const OF_PEOPLE: &[&str] = &["Place", "Post"];

#[test]
fn retired_names_do_not_come_back() {
    let mut faults = Vec::new();
    let folders = ["src", "tests", "benches", "examples"];
    for (path, text) in folders.into_iter().flat_map(sources_in) {
        let relative = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display();
        let is_fake = path.starts_with(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes"));
        let file = path.file_name().unwrap().to_str().unwrap();
        if RETIRED_FILES.contains(&file) {
            faults.push(format!("{relative}: the file has a retired name"));
        }
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let name = defined_name(line, &["struct", "enum", "trait", "type"]);
            let is_retired =
                |name: &&str| RETIRED_TYPES.contains(name) && !(is_fake && OF_PEOPLE.contains(name));
            faults.extend(name.filter(is_retired).map(|name| format!("{relative}: {name}")));
            let name = defined_name(line, &["fn"]);
            faults.extend(
                name.filter(|name| RETIRED_FUNCTIONS.contains(name))
                    .map(|name| format!("{relative}: {name}")),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
