//! QQ by webhook, end to end: the platform calls the daemon, on a server without a gateway.

use ring::signature::Ed25519KeyPair;

use super::*;

const AT_LEAST: usize = 32;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Signs as the platform does, with the key that follows from the bot's secret.
fn signed(text: &str) -> String {
    let seed: Vec<u8> = SECRET.bytes().cycle().take(AT_LEAST).collect();
    hex(Ed25519KeyPair::from_seed_unchecked(&seed).unwrap().sign(text.as_bytes()).as_ref())
}

async fn call(daemon: &Daemon, body: &Value, headers: &[(&str, String)]) -> (u16, Value) {
    let mut request = daemon.http.post(format!("{}/hooks/qq", daemon.base)).body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_is_validated_and_events_are_taken_with_the_platforms_signature_alone() {
    let world =
        Environment::new(Script::compute(echo), json!({ "adapters": { "qq": { "mode": "webhook" } } })).await;
    world.qq.rule(|rules| rules.minimal = true);
    let daemon = world.project.start().await;
    // As in the platform's documentation: the validation request has no signature.
    let ask = json!({ "op": 13, "d": { "plain_token": "Arq0D5A61EgUu4OxUvOp", "event_ts": "1725442341" } });
    let agent = [("user-agent", "QQBot-Callback".to_owned()), ("x-bot-appid", APP_ID.to_owned())];
    let (status, answer) = call(&daemon, &ask, &agent).await;
    let expected = signed("1725442341Arq0D5A61EgUu4OxUvOp");
    assert_eq!((status, &answer["signature"]), (200, &json!(expected)), "{answer}");

    world.qq.rule(|rules| rules.repliable("m1", "U1"));
    let at = (jiff::Timestamp::now().as_second()).to_string();
    let event = json!({ "op": 0, "id": "C2C_MESSAGE_CREATE:m1", "t": "C2C_MESSAGE_CREATE", "d": {
        "id": "m1", "content": "hello", "timestamp": jiff::Timestamp::now().to_string(),
        "author": { "user_openid": "U1" } } });
    let proof =
        |signature: String| [("x-signature-timestamp", at.clone()), ("x-signature-ed25519", signature)];
    let forged = proof(signed("something else"));
    assert_eq!(call(&daemon, &event, &forged).await.0, 401);
    assert_eq!(call(&daemon, &event, &[]).await.0, 401);
    let good = proof(signed(&format!("{at}{event}")));
    for _ in 0..2 {
        assert_eq!(call(&daemon, &event, &good).await, (200, json!({ "op": 12, "d": 0 })));
    }
    world.qq.text_with("U1", "echo hello").await;
    assert_eq!(world.qq.look(|rules| rules.texts("U1").len()), 1);
}
