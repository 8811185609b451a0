//! Every kind of mistake with its place, its words and its fix.

use std::path::Path;

use super::project::{load, project};
use crate::adapters::builtin;
use crate::config::{AgentMdError, Env, Settings};

fn lines(ship: &str) -> Vec<String> {
    let error = load(ship, &Env::of([("SET", "x"), ("SOME_TOKEN", "canary")])).map(|_| ()).unwrap_err();
    error.to_string().lines().map(str::to_owned).collect()
}

/// Each file has this one mistake, told in these words.
fn expect(cases: &[(&str, &str)]) {
    for (ship, expected) in cases {
        assert_eq!(lines(ship), [format!("ship.json:{expected}")], "{ship}");
    }
}

#[test]
fn what_is_not_json_is_told_with_its_fix() {
    expect(&[
        ("", "1:1: is empty; write {} into it, or remove it"),
        ("[]", r#"1:1: should be an object, but is a list; write { "key": value }"#),
        ("{\n  \"name\": \"a\"\n  \"language\": \"en\"\n}", "2:14: a comma is missing; put one here"),
        (r#"{ 'name': "a" }"#, "1:3: single quotes are not JSON; use double quotes"),
        (r#"{ name: "a" }"#, "1:3: this key has no quotes; put it in double quotes"),
        (
            r#"{ "name": agent }"#,
            "1:11: a word without quotes; put text in double quotes; true, false and null are lower-case",
        ),
        (r#"{ "name": "a""#, "1:1: this { is never closed; add the missing }"),
        (
            r#"{ "name": "a", "name": "b" }"#,
            "1:16: name: this key is already set on line 1; remove one of the two",
        ),
    ]);
}

#[test]
fn wrong_keys_and_types_are_told_with_their_fix() {
    expect(&[
        (
            r#"{ "llm": { "base_url": "http://a" } }"#,
            r#"1:12: llm.base_url: unknown key; did you mean "baseUrl"?"#,
        ),
        (
            r#"{ "modle": "a" }"#,
            "1:3: modle: unknown key; the keys here are name, language, timezone, owners, identities, llm, adapters, permissions, approvals, queue, limits, memory, groups, voice, budget",
        ),
        (r#"{ "telegram": {} }"#, r#"1:3: telegram: unknown key; did you mean "adapters.telegram"?"#),
        (
            r#"{ "colour": 1 }"#,
            "1:3: colour: unknown key; the keys here are name, language, timezone, owners, identities, llm, adapters, permissions, approvals, queue, limits, memory, groups, voice, budget",
        ),
        (
            r#"{ "llm": { "maxSteps": "40" } }"#,
            "1:24: llm.maxSteps: should be a whole number, but is text; remove the quotes",
        ),
        (
            r#"{ "llm": { "maxSteps": 1.5 } }"#,
            "1:24: llm.maxSteps: should be a whole number, but is a number with a fraction; leave out the fraction",
        ),
        (
            r#"{ "llm": { "model": null } }"#,
            "1:21: llm.model: should be text, but is null; give it a value, or remove the key",
        ),
        (r#"{ "name": 5 }"#, "1:11: name: should be text, but is a whole number; put it in double quotes"),
        (
            r#"{ "owners": "telegram:user:1" }"#,
            "1:13: owners: should be a list, but is text; put it in brackets: [ … ]",
        ),
        (
            r#"{ "queue": true }"#,
            r#"1:12: queue: should be an object, but is true or false; write { "key": value }"#,
        ),
        (
            r#"{ "approvals": { "expireMinutes": "soon" } }"#,
            "1:35: approvals.expireMinutes: should be a number, but is text; write one number",
        ),
        (
            r#"{ "adapters": { "web": { "enabled": 1 } } }"#,
            "1:37: adapters.web.enabled: should be true or false, but is a whole number; write true or false",
        ),
    ]);
}

#[test]
fn wrong_values_are_told_with_their_fix() {
    expect(&[
        (
            r#"{ "queue": { "whileRunning": "merg" } }"#,
            r#"1:30: queue.whileRunning: "merg" is not one of "merge", "steer", "interrupt"; did you mean "merge"?"#,
        ),
        (
            r#"{ "language": "français" }"#,
            r#"1:15: language: "français" is not one of "auto", "zh", "en"; choose one of these"#,
        ),
        (
            r#"{ "queue": { "mergeMs": 2001 } }"#,
            "1:25: queue.mergeMs: 2001 is out of range; use a number from 0 to 2000",
        ),
        (
            r#"{ "queue": { "mergeMs": -1 } }"#,
            "1:25: queue.mergeMs: -1 is out of range; use a number from 0 to 2000",
        ),
        (
            r#"{ "approvals": { "expireMinutes": 0 } }"#,
            "1:35: approvals.expireMinutes: 0 is out of range; use a number above 0",
        ),
        (
            r#"{ "adapters": { "telegram": { "allowedUsers": [99999999999999999999] } } }"#,
            "1:48: adapters.telegram.allowedUsers[0]: 99999999999999999999 is out of range; use a smaller number",
        ),
        (r#"{ "name": "  " }"#, "1:11: name: is empty; fill it in, or remove the key"),
        (
            r#"{ "llm": { "apiKey": "${NO_SUCH_KEY}" } }"#,
            "1:22: llm.apiKey: the variable NO_SUCH_KEY is not set; set it in the environment or in .env, or give a default: ${NO_SUCH_KEY:-…}",
        ),
        (
            r#"{ "name": "${SET" }"#,
            r#"1:11: name: "${" has no closing "}"; write ${NAME}, or $${ for the two characters"#,
        ),
        (
            r#"{ "name": "${SET-x}" }"#,
            r#"1:11: name: "${SET-x}" names no variable; write ${NAME} or ${NAME:-default}, with letters, digits and _ in the name"#,
        ),
        (
            r#"{ "llm": { "baseUrl": "api.openai.com/v1" } }"#,
            r#"1:23: llm.baseUrl: "api.openai.com/v1" is not a web address; write it as http://host or https://host/path"#,
        ),
        (
            r#"{ "llm": { "baseUrl": "${SOME_TOKEN}" } }"#,
            r#"1:23: llm.baseUrl: "${SOME_TOKEN}" is not a web address; write it as http://host or https://host/path"#,
        ),
        (
            r#"{ "adapters": { "web": { "listen": "127.0.0.1:77170" } } }"#,
            r#"1:36: adapters.web.listen: "127.0.0.1:77170" is not an address to listen at; write address:port, such as 127.0.0.1:7717"#,
        ),
        (
            r#"{ "adapters": { "web": { "allowedHosts": ["https://a.b"] } } }"#,
            r#"1:43: adapters.web.allowedHosts[0]: "https://a.b" is not a host name; write the name alone, such as agent.example.org, without scheme, port or path"#,
        ),
        (
            r#"{ "adapters": { "web": { "allowedOrigins": ["https://a.b/"] } } }"#,
            r#"1:45: adapters.web.allowedOrigins[0]: "https://a.b/" is not the origin of a web page; did you mean "https://a.b"?"#,
        ),
        (
            r#"{ "adapters": { "web": { "allowedOrigins": ["*"] } } }"#,
            r#"1:45: adapters.web.allowedOrigins[0]: "*" is not the origin of a web page; write scheme, host and port as a browser does, such as https://app.example.org or http://localhost:3000, without a path and without *"#,
        ),
    ]);
}

#[test]
fn wrong_names_of_people_and_tools_are_told_with_their_fix() {
    expect(&[
        (
            r#"{ "owners": ["@somebody"] }"#,
            r#"1:14: owners[0]: "@somebody" is not a person's id; write platform:user:id, such as telegram:user:123456"#,
        ),
        (
            r#"{ "owners": ["telgram:user:1"] }"#,
            r#"1:14: owners[0]: "telgram:user:1" names a platform there is not; did you mean "telegram:user:1"?"#,
        ),
        (
            r#"{ "approvals": { "approvers": ["owner"] } }"#,
            r#"1:32: approvals.approvers[0]: "owner" is neither a role nor a person's id; did you mean "owners"?"#,
        ),
        (
            r#"{ "approvals": { "approvers": ["everybody at all"] } }"#,
            r#"1:32: approvals.approvers[0]: "everybody at all" is neither a role nor a person's id; write requester, owners, admins, or an id such as telegram:user:123456"#,
        ),
        (
            r#"{ "permissions": { "exec-shell": { "mode": "ask" } } }"#,
            r#"1:20: permissions.exec-shell: there is no such tool; did you mean "exec_shell"?"#,
        ),
        (
            r#"{ "permissions": { "editFile": { "mode": "ask" } } }"#,
            r#"1:20: permissions.editFile: there is no such tool; did you mean "edit_file"?"#,
        ),
        (
            r#"{ "permissions": { "exec_shell": { "mode": "allways" } } }"#,
            r#"1:44: permissions.exec_shell.mode: "allways" is not one of "allow", "ask", "deny"; choose one of these"#,
        ),
        (
            r#"{ "permissions": { "exec_shell": { "allow": ["git status", "git *"] } } }"#,
            r#"1:60: permissions.exec_shell.allow[1]: "git *" is not the beginning of one plain command; write its first words, such as "git status", without * or operators"#,
        ),
        (
            r#"{ "permissions": { "exec_shell": { "deny": ["rm; ls"] } } }"#,
            r#"1:45: permissions.exec_shell.deny[0]: "rm; ls" is not the beginning of one plain command; write its first words, such as "git status", without * or operators"#,
        ),
        (
            r#"{ "permissions": { "my.tool": { "mod": "ask" } } }"#,
            r#"1:33: permissions["my.tool"].mod: unknown key; did you mean "mode"?"#,
        ),
        (
            "{ \"llm\": {\n  \"provider\": \"openai\" } }",
            "1:10: llm.apiKey: api.openai.com needs a key; set it to ${OPENAI_API_KEY}, or set llm.baseUrl to your own server",
        ),
        (
            r#"{ "llm": { "fallbacks": [ { "baseUrl": 1 } ] } }"#,
            "1:40: llm.fallbacks[0].baseUrl: should be text, but is a whole number; put it in double quotes",
        ),
    ]);
}

#[test]
fn all_mistakes_of_a_project_are_told_at_once() {
    let ship = r#"{
  // a comment, so that lines count
  "nmae": "a",
  "llm": { "maxSteps": 0, "apiKey": "${A_KEY} ${B_KEY}" }
  "queue": { "mergeMs": 9000, "whileRunning": 'never' },
}"#;
    let dir = project(&[("ship.json", ship), (".env", "GOOD=1\nbad line\n")]);
    let error = Settings::load(dir.path(), &Env::default(), &builtin()).unwrap_err();
    let text = error.to_string().replace(&*dir.path().canonicalize().unwrap().to_string_lossy(), "DIR");
    let expected = [
        "DIR/Agent.md is missing; run `shipagent init` to create one, or give another directory with -C DIR",
        r#".env:2:1: this line has no "="; write NAME=value, or begin a comment with #"#,
        r#"ship.json:3:3: nmae: unknown key; did you mean "name"?"#,
        "ship.json:4:24: llm.maxSteps: 0 is out of range; use a number from 1 to 1000",
        "ship.json:4:37: llm.apiKey: the variable A_KEY is not set; set it in the environment or in .env, or give a default: ${A_KEY:-…}",
        "ship.json:4:37: llm.apiKey: the variable B_KEY is not set; set it in the environment or in .env, or give a default: ${B_KEY:-…}",
        "ship.json:4:58: a comma is missing; put one here",
        "ship.json:5:25: queue.mergeMs: 9000 is out of range; use a number from 0 to 2000",
        "ship.json:5:47: single quotes are not JSON; use double quotes",
        r#"ship.json:5:47: queue.whileRunning: "never" is not one of "merge", "steer", "interrupt"; choose one of these"#,
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_report_speaks_the_operators_language() {
    let ship = r#"{ "queue": { "mergeMs": "600" } }"#;
    let expected = "ship.json:1:25: queue.mergeMs: 应为整数，却是文本；请去掉引号";
    let chinese = Env::of([("LANG", "zh_CN.UTF-8")]);
    assert_eq!(load(ship, &chinese).unwrap_err().to_string(), expected);
    let ship = r#"{ "language": "zh", "queue": { "mergeMs": -5 } }"#;
    let expected = "ship.json:1:43: queue.mergeMs: -5 超出范围；请用 0 到 2000 之间的数";
    assert_eq!(load(ship, &Env::default()).unwrap_err().to_string(), expected);
    let ship = r#"{ "language": "en", "nmae": "x" }"#;
    assert!(load(ship, &chinese).unwrap_err().to_string().ends_with("did you mean \"name\"?"));
}

#[test]
fn files_that_cannot_be_read_are_told_and_not_taken_for_absent() {
    let dir = project(&[("Agent.md", "Be kind.")]);
    std::fs::create_dir(dir.path().join("ship.json")).unwrap();
    let error = Settings::load(dir.path(), &Env::default(), &builtin()).unwrap_err();
    assert!(error.agent_md.is_none());
    assert!(error.to_string().starts_with("ship.json: cannot be read ("), "{error}");

    let missing = Settings::load(Path::new("/no/such/directory"), &Env::default(), &builtin()).unwrap_err();
    assert!(matches!(missing.agent_md, Some(AgentMdError::NoProject(_))));
}
