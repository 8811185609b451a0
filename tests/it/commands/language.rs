//! The language of the command line: the project's, or else that of the environment.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, locale: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shipagent"));
    command.args(args).current_dir(dir).env_clear().env("LANG", locale).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn help_follows_the_locale() {
    let dir = tempfile::tempdir().unwrap();
    for (locale, root, doctor) in [
        ("zh_CN.UTF-8", "用法： shipagent", "检查智能体需要的一切"),
        ("en_GB.UTF-8", "Usage: shipagent", "Check everything the agent needs"),
        ("", "Usage: shipagent", "Check everything the agent needs"),
    ] {
        let help = run(dir.path(), locale, &["--help"]);
        assert!(help.status.success() && out(&help).contains(root), "{help:?}");
        let help = run(dir.path(), locale, &["doctor", "--help"]);
        assert!(out(&help).starts_with(doctor), "{help:?}");
    }
}

#[test]
fn help_and_complaints_follow_the_project_before_the_locale() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("p");
    std::fs::create_dir(&project).unwrap();
    let mut file = std::fs::File::create(project.join("ship.json")).unwrap();
    file.write_all(br#"{ "language": "zh" }"#).unwrap();
    let help = run(dir.path(), "C", &["-C", "p", "run", "--help"]);
    assert!(out(&help).starts_with("运行智能体"), "{help:?}");
    let wrong = run(&project, "C", &["runn"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).starts_with("错误：没有命令“runn”"), "{wrong:?}");
}
