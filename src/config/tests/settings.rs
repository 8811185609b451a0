//! What good configurations become.

use secrecy::ExposeSecret;
use serde_json::json;

use super::project::{load, project};
use crate::adapters::builtin;
use crate::config::{Env, Provider, Settings, SttBackend};
use crate::domain::Language;

#[test]
fn without_a_file_the_usual_variables_are_read() {
    let dir = project(&[("Agent.md", "Be kind."), (".env", "OPENAI_API_KEY=sk-file\nOPENAI_MODEL=m\n")]);
    let env = Env::of([("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/"), ("OPENAI_MODEL", "process")]);
    let settings = Settings::load(dir.path(), &env, &builtin()).unwrap();
    let Provider::OpenAi(endpoint) = &settings.model.provider else { panic!("{settings:?}") };
    assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), ("http://127.0.0.1:9/v1", "process"));
    assert_eq!(endpoint.api_key.as_ref().unwrap().expose_secret(), "sk-file");

    let wrong = Env::of([("OPENAI_BASE_URL", "127.0.0.1:9")]);
    let error = Settings::load(dir.path(), &wrong, &builtin()).unwrap_err().to_string();
    assert!(error.starts_with("OPENAI_BASE_URL: \"127.0.0.1:9\" is not a web address"), "{error}");

    // With a file, only what the file asks for counts.
    let with_file = load("{}", &Env::of([("OPENAI_API_KEY", "sk")])).unwrap();
    assert!(matches!(with_file.model.provider, Provider::Offline));
}

#[test]
fn auto_is_openai_with_a_key_or_another_server_else_offline() {
    let env = Env::of([("K", "sk")]);
    for (llm, openai) in [
        (json!({}), false),
        (json!({ "apiKey": "" }), false),
        (json!({ "apiKey": "${NO_KEY:-}" }), false),
        (json!({ "baseUrl": "https://api.openai.com/v1/" }), false),
        (json!({ "apiKey": "${K}" }), true),
        (json!({ "baseUrl": "http://127.0.0.1:11434/v1" }), true),
        (json!({ "provider": "offline", "apiKey": "${K}" }), false),
        (json!({ "provider": "openai", "baseUrl": "http://127.0.0.1:1" }), true),
    ] {
        let settings = load(&json!({ "llm": llm }).to_string(), &env).unwrap();
        assert_eq!(matches!(settings.model.provider, Provider::OpenAi(_)), openai, "{llm}");
    }
}

#[test]
fn a_fallback_shares_the_key_only_with_the_same_server() {
    let ship = r#"{ "llm": { "apiKey": "main", "timeoutSecs": 7, "fallbacks": [
        { "model": "other" }, { "baseUrl": "http://127.0.0.1:1", "model": "local" },
        { "provider": "offline" }, { "baseUrl": "http://127.0.0.1:2", "apiKey": "own" } ] } }"#;
    let settings = load(ship, &Env::default()).unwrap();
    let seen: Vec<String> = settings
        .model
        .fallbacks
        .iter()
        .map(|fallback| match fallback {
            Provider::Offline => "offline".to_owned(),
            Provider::OpenAi(endpoint) => {
                let key = endpoint.api_key.as_ref().map(|key| key.expose_secret().to_owned());
                format!("{} {} {key:?} {:?}", endpoint.base_url, endpoint.model, endpoint.timeout)
            }
        })
        .collect();
    assert_eq!(
        seen,
        [
            r#"https://api.openai.com/v1 other Some("main") 7s"#,
            "http://127.0.0.1:1 local None 7s",
            "offline",
            r#"http://127.0.0.1:2 gpt-6-luna Some("own") 7s"#,
        ]
    );
}

#[test]
fn an_adapter_runs_when_it_is_there_on_and_has_its_credentials() {
    let on = json!({ "botToken": "1:a" });
    for (adapters, runs, idle) in [
        (json!({}), "web", "[]"),
        (json!({ "telegram": on }), "web telegram", "[]"),
        (json!({ "telegram": { "botToken": "" } }), "web", r#"[("telegram", NoCredentials(["botToken"]))]"#),
        (
            json!({ "telegram": { "enabled": false, "botToken": "${UNSET}" } }),
            "web",
            r#"[("telegram", Disabled)]"#,
        ),
        (
            json!({ "telegram": { "botToken": "1:a", "mode": "webhook" } }),
            "web",
            r#"[("telegram", NoCredentials(["webhookUrl"]))]"#,
        ),
        (json!({ "feishu": { "appId": "a" } }), "web", r#"[("feishu", NoCredentials(["appSecret"]))]"#),
        (json!({ "feishu": { "appId": "a", "appSecret": "b" } }), "web feishu", "[]"),
        (
            json!({ "feishu": { "appId": "a", "appSecret": "b", "mode": "webhook" } }),
            "web",
            r#"[("feishu", NoCredentials(["encryptKey"]))]"#,
        ),
        (
            json!({ "feishu": { "appId": "a", "appSecret": "b", "mode": "webhook", "verificationToken": "t" } }),
            "web feishu",
            "[]",
        ),
        (json!({ "qq": { "appId": "a", "appSecret": "b" } }), "web qq", "[]"),
        (json!({ "web": { "enabled": false } }), "web", "[]"),
        (json!({ "web": { "enabled": false }, "telegram": on }), "telegram", r#"[("web", Disabled)]"#),
        (json!({ "web": { "enabled": false, "token": "${UNSET}", "listen": "${UNSET}" } }), "web", "[]"),
    ] {
        let settings = load(&json!({ "adapters": adapters }).to_string(), &Env::default()).unwrap();
        let web = settings.web.iter().map(|_| "web");
        let running: Vec<&str> = web.chain(settings.adapters.iter().map(|own| own.def.name)).collect();
        assert_eq!(running.join(" "), runs, "{adapters}");
        let sleeping: Vec<_> = settings.idle_adapters.into_iter().map(|idle| (idle.name, idle.why)).collect();
        assert_eq!(format!("{sleeping:?}"), idle, "{adapters}");
    }
}

#[test]
fn a_webhook_counts_only_in_its_mode() {
    for (mode, by_webhook) in [("webhook", true), ("polling", false)] {
        let telegram = json!({ "botToken": "1:a", "mode": mode, "pairing": "silent", "acknowledge": true,
            "webhookUrl": "https://bot.example.org/hooks/telegram" });
        let ship = json!({ "adapters": { "telegram": telegram } }).to_string();
        let settings = load(&ship, &Env::default()).unwrap();
        assert_eq!(settings.adapters[0].section.by_webhook(), by_webhook, "{mode}");
    }
}

#[test]
fn every_secret_is_collected_and_none_is_printed() {
    let ship = r#"{
        "name": "${PROJECT_PASSWORD}-x", "llm": { "apiKey": "${K1_KEY}", "baseUrl": "http://h/${PATH_TOKEN}" },
        "adapters": { "web": { "token": "literal-token" }, "telegram": { "enabled": false, "botToken": "off" } }
    }"#;
    let env =
        Env::of([("PROJECT_PASSWORD", "pw-canary"), ("K1_KEY", "key-canary"), ("PATH_TOKEN", "path-canary")]);
    let files =
        [("Agent.md", "Be kind."), ("ship.json", ship), (".env", "OTHER_SECRET=env-canary\nPLAIN=plain\n")];
    let settings = Settings::load(project(&files).path(), &env, &builtin()).unwrap();
    let secrets: Vec<&str> = settings.secrets.iter().map(ExposeSecret::expose_secret).collect();
    assert_eq!(secrets, ["env-canary", "key-canary", "literal-token", "off", "path-canary", "pw-canary"]);
    let printed = format!("{:?} {:?}", settings.model, settings.web);
    assert!(!printed.contains("key-canary") && !printed.contains("literal-token"), "{printed}");
}

#[test]
fn a_speech_server_is_that_of_the_model_unless_it_is_named_and_gets_no_key_of_another() {
    let ship = |stt: &str| {
        let llm = r#""llm": { "baseUrl": "http://models/v1/", "apiKey": "m" }"#;
        format!(r#"{{ {llm}, "voice": {{ "stt": {{ "provider": "openai"{stt} }} }} }}"#)
    };
    for (stt, url, key) in [
        ("", "http://models/v1", Some("m")),
        (r#", "apiKey": "s""#, "http://models/v1", Some("s")),
        (r#", "baseUrl": "http://speech/v1""#, "http://speech/v1", None),
        (r#", "baseUrl": "http://speech/v1", "apiKey": "s""#, "http://speech/v1", Some("s")),
    ] {
        let settings = load(&ship(stt), &Env::default()).unwrap();
        let Some(SttBackend::Transcriptions(server)) = settings.voice.stt.map(|stt| stt.backend) else {
            panic!()
        };
        let found = server.api_key.as_ref().map(ExposeSecret::expose_secret);
        assert_eq!((server.base_url.as_str(), found), (url, key), "{stt}");
    }
}

#[test]
fn a_speech_provider_without_what_it_needs_is_told() {
    for (voice, expected) in [
        (
            r#"{ "stt": { "provider": "command" } }"#,
            r#"voice.stt.command: is missing: provider "command" needs it"#,
        ),
        (r#"{ "tts": { "provider": "command", "command": [] } }"#, "voice.tts.command: is missing"),
        (r#"{ "tts": { "provider": "openai" } }"#, "voice.tts.model: is missing"),
        (r#"{ "stt": { "provider": "openai" } }"#, "voice.stt.apiKey: api.openai.com needs a key"),
        (r#"{ "stt": { "provider": "whisper" } }"#, "voice.stt.provider: \"whisper\" is not one of"),
        (r#"{ "tts": { "mode": "sometimes" } }"#, "voice.tts.mode: \"sometimes\" is not one of"),
        (r#"{ "stt": { "maxSecs": 0 } }"#, "voice.stt.maxSecs: 0 is out of range"),
    ] {
        let told = load(&format!(r#"{{ "voice": {voice} }}"#), &Env::default()).unwrap_err().to_string();
        assert!(told.contains(expected), "{voice}: {told}");
    }
}

#[test]
fn expire_minutes_may_be_any_positive_number() {
    for (minutes, expected) in [("0.5", 30), ("1", 60), ("1e300", 100 * 365 * 24 * 60 * 60)] {
        let ship = format!(r#"{{ "approvals": {{ "expireMinutes": {minutes} }} }}"#);
        assert_eq!(load(&ship, &Env::default()).unwrap().approvals.expire.as_secs(), expected, "{minutes}");
    }
}

#[test]
fn the_language_key_fixes_the_daemons_words() {
    for (ship, expected) in [
        ("{}", None),
        (r#"{"language":"zh"}"#, Some(Language::Zh)),
        (r#"{"language":"en"}"#, Some(Language::En)),
    ] {
        assert_eq!(load(ship, &Env::default()).unwrap().language, expected, "{ship}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one snapshot of all settings")]
fn what_is_left_out_has_these_values() {
    let dir = project(&[("Agent.md", "Be kind.")]);
    let mut settings = Settings::load(dir.path(), &Env::default(), &builtin()).unwrap();
    assert_eq!(settings.state, settings.project.join(".ship"));
    assert!(settings.project.is_absolute());
    (settings.project, settings.state, settings.name) = ("P".into(), "P/.ship".into(), "N".into());
    settings.zone = jiff::tz::TimeZone::UTC;
    settings.budget.zone = jiff::tz::TimeZone::UTC;
    insta::assert_debug_snapshot!(settings, @r#"
    Settings {
        project: "P",
        state: "P/.ship",
        name: "N",
        agent_md: "Be kind.",
        language: None,
        zone: TimeZone(
            UTC,
        ),
        operator_language: En,
        owners: [],
        model: ModelSettings {
            provider: Offline,
            context_tokens: 128000,
            max_steps: 40,
            fallbacks: [],
            helper: None,
            titles: false,
            named: {},
            choosers: Owners,
        },
        web: Some(
            WebSettings {
                listen: 127.0.0.1:7717,
                listen_chosen: false,
                token: None,
                allowed_hosts: [],
                allowed_origins: [],
            },
        ),
        adapters: [],
        idle_adapters: [],
        enrich: [],
        permissions: PermissionSettings {
            exec_shell: ExecShellSettings {
                mode: Ask,
                allow: [],
                deny: [],
                compound: Ask,
                sandbox: Auto,
                sockets: [],
                timeout: 120s,
            },
            tools: {},
        },
        approvals: ApprovalSettings {
            approvers: [
                Requester,
                Owners,
            ],
            expire: 86400s,
            while_waiting: Queue,
            read_replies: Rules,
        },
        queue: QueueSettings {
            merge: 600ms,
            while_running: Merge,
        },
        limits: LimitSettings {
            max_concurrent_runs: 256,
            max_processes: 8,
            mailbox: 256,
            history_cache: 67108864,
            stop: 10s,
            command_memory_mb: None,
        },
        memory: MemorySettings {
            scopes: ScopeSettings {
                dm_scope: PerChannelPeer,
                identities: {},
            },
            history: Thread,
            recall: true,
            refresh: 3600s,
            keep_runs: 4,
            compact_idle_percent: 70,
            compact_percent: 90,
            distil_every: None,
            auto: Propose,
            embeddings: None,
        },
        groups: GroupsSettings {
            shared_dir: None,
            keep_days: 14,
            purpose: "",
            aliases: [],
            rooms: {},
            bots: Auto,
            bot_depth: 2,
            settle: 1s,
            threshold: 60,
        },
        voice: VoiceSettings {
            stt: None,
            tts: None,
        },
        budget: BudgetSettings {
            rules: BudgetRules {
                money: Caps {
                    turn: Some(
                        2000000,
                    ),
                    thread_day: None,
                    user_day: None,
                    task_day: None,
                    day: None,
                    month: None,
                },
                tokens: Caps {
                    turn: None,
                    thread_day: None,
                    user_day: None,
                    task_day: None,
                    day: None,
                    month: None,
                },
                warn_at: [
                    800,
                ],
                notable_day: 5000000,
                notable_unpriced: 5000000,
                unpriced_turn: Some(
                    2000000,
                ),
                on_limit: Ask,
                unknown_price: Tokens,
                owners_exempt: false,
                exempt: {},
                helpers_share: 200,
                currency: Currency {
                    name: "USD",
                    per_dollar: 1000000,
                },
            },
            prices: {},
            zone: TimeZone(
                UTC,
            ),
            footer: Off,
        },
        secrets: [],
        has_file: false,
        warnings: [],
        digests: {},
    }
    "#);
}

#[test]
fn a_secret_in_the_file_itself_is_a_warning_that_says_how_to_move_it() {
    let ship = r#"{
  "llm": { "apiKey": "sk-4f9a8b7c6d5e" },
  "adapters": {
    "telegram": { "botToken": "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "enabled": false },
    "feishu": { "appId": "", "appSecret": "", "encryptKey": "${A_KEY}", "verificationToken": "${NO:-v3rify-me}" },
    "qq": { "appId": "1", "appSecret": "your-secret" },
    "web": { "token": "${A_KEY}" }
  }
}"#;
    let settings = load(ship, &Env::of([("A_KEY", "canary")])).unwrap();
    let warnings: Vec<String> =
        settings.warnings.iter().map(|warning| warning.warning_line(Language::En)).collect();
    let told = "this secret is written into the file, where commits, backups and tools can pick it up; put";
    let expected = [
        ("2:22: llm.apiKey", "LLM_API_KEY"),
        ("4:31: adapters.telegram.botToken", "TELEGRAM_BOT_TOKEN"),
        ("5:94: adapters.feishu.verificationToken", "FEISHU_VERIFICATION_TOKEN"),
    ];
    for ((place, variable), warning) in expected.iter().zip(&warnings) {
        let line = format!("{place}: {told} {variable}=… into .env and write \"${{{variable}}}\" here");
        assert!(warning.contains(&line), "{warning}");
        assert!(!warning.contains("sk-4f9a") && !warning.contains("AAHdq"), "{warning}");
    }
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    let chinese = settings.warnings[0].warning_line(Language::Zh);
    assert!(chinese.contains("请在 .env 中写 LLM_API_KEY=…"), "{chinese}");
}

#[test]
fn amounts_of_a_budget_are_in_its_currency_and_one_cap_replaces_the_usual_one() {
    let ship = r#"{ "timezone": "Asia/Shanghai", "budget": {
        "currency": "CNY", "perDollar": 7.2, "day": 36, "tokens": { "perTurn": 9 }, "warnAt": [0.8, 0.5, 0.8],
        "exempt": ["owners", "telegram:user:7"], "prices": { "m": { "input": 7.2, "output": 14.4, "perCall": 0.72 } } } }"#;
    let budget = load(ship, &Env::default()).unwrap().budget;
    let rules = &budget.rules;
    assert_eq!((rules.money.day, rules.money.turn, rules.tokens.turn), (Some(5_000_000), None, Some(9)));
    assert_eq!((&rules.warn_at[..], rules.owners_exempt, rules.exempt.len()), (&[500, 800][..], true, 1));
    let price = budget.prices["m"];
    assert_eq!((price.input, price.cached_input, price.output), (1_000_000, 1_000_000, 2_000_000));
    assert_eq!((price.per_call, budget.zone.iana_name()), (100_000, Some("Asia/Shanghai")));
    // A price may be in US dollars, as in providers' lists.
    let ship = r#"{ "budget": { "currency": "CNY", "perDollar": 7.2, "prices": {
        "m": { "input": 0.3, "currency": "USD" }, "n": { "input": 7.2, "currency": "cny" } } } }"#;
    let prices = load(ship, &Env::default()).unwrap().budget.prices;
    assert_eq!((prices["m"].input, prices["n"].input), (300_000, 1_000_000));
    let ship = r#"{ "budget": { "currency": "usd", "day": 5 } }"#;
    assert_eq!(load(ship, &Env::default()).unwrap().budget.rules.money.day, Some(5_000_000));
    let faults = |ship: &str| load(ship, &Env::default()).unwrap_err().to_string();
    for (ship, expected) in [
        (r#"{ "budget": { "day": -1 } }"#, "budget.day"),
        (r#"{ "budget": { "onLimit": "explode" } }"#, "budget.onLimit"),
        (r#"{ "budget": { "exempt": ["requester"] } }"#, "budget.exempt[0]"),
        (r#"{ "budget": { "prices": { "m": { "inputs": 1 } } } }"#, "budget.prices.m.inputs"),
        (r#"{ "budget": { "perDollar": 0 } }"#, "budget.perDollar"),
        (r#"{ "budget": { "currency": "CNY", "day": 5 } }"#, "budget.currency"),
        (r#"{ "budget": { "prices": { "m": { "currency": "CNY" } } } }"#, "budget.prices.m.currency"),
        (r#"{ "budget": { "timezone": "CST" } }"#, "budget.timezone"),
    ] {
        assert!(faults(ship).contains(expected), "{}", faults(ship));
    }
}
