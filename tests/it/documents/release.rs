//! Release archives, the container and the pipeline: checked without a compiler for musl and without a container engine.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::scratch::repository;

fn script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// `dist/build` with compilers that do not compile: "cargo" puts a starter of the tested program where a build would.
fn build(dir: &Path, targets: &[&str]) -> (Option<i32>, String) {
    let starter = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_shipagent"));
    script(&dir.join("starter"), &starter);
    let cargo = "#!/bin/sh\nprofile= target=\nfor word in \"$@\"; do\n  case $previous in --profile) profile=$word ;; --target) target=$word ;; esac\n  previous=$word\ndone\n[ \"$1\" = build ] || exit 9\nmkdir -p \"$CARGO_TARGET_DIR/$target/$profile\"\ncp \"$STARTER\" \"$CARGO_TARGET_DIR/$target/$profile/shipagent\"\n";
    script(&dir.join("bin/cargo"), cargo);
    script(&dir.join("bin/rustc"), &format!("#!/bin/sh\necho {}/sysroot\n", dir.display()));
    script(&dir.join("bin/uname"), "#!/bin/sh\necho x86_64\n");
    script(&dir.join("bin/readelf"), "#!/bin/sh\n");
    for compiler in ["musl-gcc", "aarch64-linux-musl-gcc"] {
        script(&dir.join("bin").join(compiler), "#!/bin/sh\n");
    }
    std::fs::create_dir_all(dir.join("sysroot/lib/rustlib/x86_64-unknown-linux-musl")).unwrap();
    let output = Command::new(repository().join("dist/build"))
        .args(targets)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", dir.join("bin").display()))
        .env("LANG", "C.UTF-8")
        .env("STARTER", dir.join("starter"))
        .env("CARGO_TARGET_DIR", dir.join("target"))
        .env("OUT", dir.join("out"))
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn tool(dir: &Path, name: &str, args: &[&str]) -> String {
    let output = Command::new(name).args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_archive_holds_the_program_its_manual_and_completions_and_has_a_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let (code, told) = build(dir.path(), &["x86_64-unknown-linux-musl"]);
    assert_eq!(code, Some(0), "{told}");
    let out = dir.path().join("out");
    let name = format!("shipagent-{}-x86_64-unknown-linux-musl", env!("CARGO_PKG_VERSION"));
    tool(&out, "sha256sum", &["--check", &format!("{name}.tar.gz.sha256")]);
    let archive = format!("{name}.tar.gz");
    let listed = tool(&out, "tar", &["tzf", &archive]);
    for file in [
        "shipagent",
        "README.md",
        "LICENSE",
        "ship.json.example",
        "man/shipagent.1",
        "man/shipagent-run.1",
        "man/shipagent-threads-list.1",
        "completions/shipagent.bash",
        "completions/_shipagent",
        "completions/shipagent.fish",
    ] {
        assert!(listed.lines().any(|line| line == format!("{name}/{file}")), "{file} in {listed}");
    }
    // The same input gives the same bytes.
    let first = std::fs::read(out.join(&archive)).unwrap();
    assert_eq!(build(dir.path(), &["x86_64-unknown-linux-musl"]).0, Some(0));
    assert!(std::fs::read(out.join(&archive)).unwrap() == first, "another archive of the same files");
}

#[test]
fn a_build_that_cannot_be_done_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    for (target, expected) in [
        ("aarch64-unknown-linux-musl", "rustup target add aarch64-unknown-linux-musl"),
        ("riscv64gc-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu is not built here"),
    ] {
        let (code, told) = build(dir.path(), &[target]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap()
}

/// The instructions of a Dockerfile, continuations joined.
fn instructions(text: &str) -> Vec<(String, String)> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line.split_once(' ').unwrap();
            (word.to_owned(), rest.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect()
}

#[test]
fn the_dockerfile_keeps_the_rules_of_small_and_safe_images() {
    let text = read("dist/Dockerfile");
    let instructions = instructions(&text);
    let all = |word: &str| {
        instructions
            .iter()
            .filter(|(name, _)| name == word)
            .map(|(_, rest)| rest.as_str())
            .collect::<Vec<_>>()
    };
    let known =
        ["FROM", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"];
    assert!(instructions.iter().all(|(word, _)| known.contains(&word.as_str())), "{instructions:?}");
    let bases = all("FROM");
    assert_eq!(bases.len(), 2, "one image to build in, one to ship");
    for base in &bases {
        let tag = base.split(' ').next().unwrap().split_once(':').map(|(_, tag)| tag);
        assert!(tag.is_some_and(|tag| tag != "latest"), "{base} names no version");
    }
    // The compiler is the oldest that the manifest allows, so that both move together.
    let rust =
        read("Cargo.toml").lines().find_map(|line| line.strip_prefix("rust-version = ").map(str::to_owned));
    assert!(bases[0].starts_with(&format!("rust:{}-", rust.unwrap().trim_matches('"'))), "{bases:?}");
    for run in all("RUN").into_iter().filter(|run| run.contains("apt-get install")) {
        assert!(
            run.contains("--no-install-recommends") && run.contains("rm -rf /var/lib/apt/lists"),
            "{run}"
        );
    }
    assert!(all("RUN").iter().any(|run| run.contains("dist/build")), "built by the script of the archives");
    // Nothing of the final stage runs as root after USER, and nothing is copied but the program.
    let last = instructions.iter().rposition(|(word, _)| word == "FROM").unwrap();
    let stage = &instructions[last..];
    let user = stage.iter().position(|(word, _)| word == "USER").unwrap();
    assert!(stage[user].1.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{:?}", stage[user]);
    assert!(stage[user..].iter().all(|(word, _)| word != "RUN" && word != "COPY"), "{stage:?}");
    let copied: Vec<&str> =
        stage.iter().filter(|(word, _)| word == "COPY").map(|(_, rest)| rest.as_str()).collect();
    assert_eq!(copied, ["--from=build /out/shipagent /usr/local/bin/shipagent"]);
    for (word, expected) in
        [("ENTRYPOINT", vec!["shipagent"]), ("CMD", vec!["run", "--listen", "0.0.0.0:7717"])]
    {
        let words: Vec<String> = serde_json::from_str(all(word)[0]).unwrap();
        assert_eq!(words, expected, "{word} is not in exec form");
    }
    assert_eq!(all("EXPOSE"), ["7717"]);
    assert!(all("HEALTHCHECK")[0].contains("http://127.0.0.1:7717/healthz"), "{:?}", all("HEALTHCHECK"));
    let ignored = read(".dockerignore");
    for name in ["target", ".git", "**/.ship", "**/.env"] {
        assert!(ignored.lines().any(|line| line == name), "{name} would be sent to the builder");
    }
}

#[test]
fn the_compose_file_publishes_to_the_loopback_only_and_drops_all_rights() {
    let compose = yaml("dist/compose.yaml");
    let agent = &compose["services"]["agent"];
    let context = repository().join("dist").join(agent["build"]["context"].as_str().unwrap());
    assert!(context.join(agent["build"]["dockerfile"].as_str().unwrap()).exists());
    for port in agent["ports"].as_array().unwrap() {
        assert!(port.as_str().unwrap().starts_with("127.0.0.1:"), "{port}");
    }
    assert_eq!(agent["cap_drop"][0], "ALL");
    assert_eq!(agent["read_only"], true);
    assert_eq!(agent["security_opt"][0], "no-new-privileges:true");
    assert!(agent["user"].as_str().unwrap().contains(":-1000}"), "{agent}");
    assert!(agent["volumes"][0].as_str().unwrap().ends_with(":/project"));
    // Longer than running turns get to end.
    assert_eq!(agent["stop_grace_period"], "20s");
}

#[test]
fn the_pipeline_builds_and_starts_both_targets_by_the_same_scripts() {
    let release = yaml(".github/workflows/release.yml");
    let build = &release["jobs"]["build"];
    let targets: BTreeSet<&str> = build["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["target"].as_str().unwrap())
        .collect();
    assert_eq!(targets, BTreeSet::from(["aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"]));
    let steps: String = build["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["run"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    for name in ["dist/build", "dist/check-static"] {
        assert!(steps.contains(name), "{name} in {steps}");
        let mode = std::fs::metadata(repository().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name} is not executable");
        tool(&repository(), "bash", &["-n", name]);
    }
    assert_eq!(release["permissions"]["contents"], "read");
    assert_eq!(release["jobs"]["publish"]["needs"], "build");
}
