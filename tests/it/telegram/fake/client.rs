//! A simple bot: calls a method and returns the response.

use serde_json::{Value, json};

use crate::fakes::telegram::server::FakeTelegram;

#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    files: String,
}

impl Client {
    pub(crate) fn of(fake: &FakeTelegram) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let (url, token) = (fake.url(), fake.token());
        Self { http, base: format!("{url}/bot{token}"), files: format!("{url}/file/bot{token}") }
    }

    /// The whole response, or the network error.
    pub(crate) async fn try_call(&self, method: &str, params: &Value) -> reqwest::Result<reqwest::Response> {
        self.http.post(format!("{}/{method}", self.base)).json(params).send().await
    }

    /// The body of the response, whose code must equal the status.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let response = self.try_call(method, &params).await.unwrap();
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["error_code"].as_u64().unwrap_or(200), u64::from(status));
        assert_eq!(body["ok"], status == 200);
        body
    }

    /// The result of a call that must succeed.
    pub(crate) async fn ok(&self, method: &str, params: Value) -> Value {
        let body = self.call(method, params).await;
        assert_eq!(body["ok"], true, "{method}: {body}");
        body["result"].clone()
    }

    /// The description of a call that must fail.
    pub(crate) async fn refused(&self, method: &str, params: Value) -> String {
        let body = self.call(method, params).await;
        assert_eq!(body["ok"], false, "{method}: {body}");
        body["description"].as_str().unwrap().to_owned()
    }

    /// Sends a text and returns the message id.
    pub(crate) async fn say(&self, chat: i64, text: &str) -> i64 {
        self.ok("sendMessage", json!({ "chat_id": chat, "text": text })).await["message_id"].as_i64().unwrap()
    }

    /// The ids of the updates of a poll.
    pub(crate) async fn poll(&self, params: Value) -> Vec<i64> {
        let updates = self.ok("getUpdates", params).await;
        updates.as_array().unwrap().iter().map(|update| update["update_id"].as_i64().unwrap()).collect()
    }

    /// The latest update, without confirming any.
    pub(crate) async fn last_update(&self) -> Value {
        let updates = self.ok("getUpdates", json!({})).await;
        updates.as_array().unwrap().last().expect("there is an update").clone()
    }

    /// Calls with files in the body.
    pub(crate) async fn upload(&self, method: &str, form: reqwest::multipart::Form) -> Value {
        let request = self.http.post(format!("{}/{method}", self.base)).multipart(form);
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn fetch(&self, path: &str) -> reqwest::Result<reqwest::Response> {
        self.http.get(format!("{}/{path}", self.files)).send().await
    }

    /// Any request below the server.
    pub(crate) async fn raw(&self, method: http::Method, url: String, body: &'static str) -> (u16, Value) {
        let form = "application/x-www-form-urlencoded";
        let request = self.http.request(method, url).header("content-type", form).body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }
}
