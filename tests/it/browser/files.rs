//! Images and files of messages: not accessible without the login, and shown with it.

use serde_json::json;

use super::project::{EN, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Daemon, Project};

/// A picture of 96 by 64 points.
const PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00`\x00\x00\x00@\x08\x02\x00\x00\x00jV\xe5Y\x00\x00\x00\
    {IDATx\xda\xed\xd01\x0d\x00 \x0c\x00\xc1\xee\x88D@E\xe1\x8b\x09)5P\x01M\xb8\xe4\xc7\x9f.\xd6\xce\xb6\xf3n\
    \xdbo\x7f\x00\x02\x04\x08\x10 @\x80\x00\x01\x02\x04\x08\x10 @\x80\x00\x01\x02\x04\x08\x10 @\x80\x00\x01\x02\
    \x04\x08\x10 @\x80\x00\x01\x02\x04\x08\x10 @\x80\x00\x01\x02\x04\x08\x10 @\x80\x00\x01\x02\x04\x08\x10 @\x80\
    \x00\x01\x02\x04\x08\x10 @\x80\x00\x01\x02\x04\x08\x10 @\xf3\xfe\x02\x7f\xac*;\x07\xaf\xc8\xa2\x00\x00\x00\
    \x00IEND\xaeB`\x82";

const CHAT: &str = "pictures";

fn put(project: &Project, name: &str, bytes: &[u8]) {
    let folder = project.path().join(".ship/files/web%3Achat%3Apictures");
    std::fs::create_dir_all(&folder).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// Sends a message with these files: `(name, media type, url)`.
async fn say_with(daemon: &Daemon, files: &[(&str, &str, &str)]) {
    let mut parts = vec![json!({ "type": "text", "text": "time" })];
    parts.extend(
        files.iter().map(
            |(name, kind, url)| json!({ "type": "file", "mediaType": kind, "filename": name, "url": url }),
        ),
    );
    let message = json!({ "id": "m1", "role": "user", "parts": parts });
    let answer =
        daemon.post("/api/chat", &json!({ "id": CHAT, "messages": [message] })).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_shown_from_a_blob_and_a_file_is_downloaded_by_a_signed_link() {
    let project = offline();
    let daemon = project.start().await;
    put(&project, "shot.png", PNG);
    put(&project, "报告 1.txt", "all is well".as_bytes());
    say_with(
        &daemon,
        &[
            ("shot.png", "image/png", "/api/files/web%3Achat%3Apictures/shot%2Epng"),
            ("报告 1.txt", "text/plain", "/api/files/web%3Achat%3Apictures/%E6%8A%A5%E5%91%8A%201%2Etxt"),
            // Neither of these leads anywhere but to a file.
            ("out.png", "image/png", "/api/files/%2e%2e/info"),
            (
                "out.txt",
                "text/plain",
                "/api/files/web:chat:pictures/x/../../../threads/web:chat:pictures/stop?",
            ),
            ("page.html", "image/png", "/api/files/web%3Achat%3Apictures/none%2Ehtml"),
        ],
    )
    .await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.visit(&format!("{}/#/t/web:chat:{CHAT}", daemon.base)).await;
    let picture = "document.querySelector('[data-testid=picture]')";
    console.until(picture).await;
    console.browser.eval(&format!("({picture}.scrollIntoView({{ block: 'nearest' }}), 1)")).await;
    console.until(&format!("{picture}?.complete && {picture}.naturalWidth === 96")).await;
    assert_eq!(console.browser.eval(&format!("{picture}.src.startsWith('blob:')")).await, true);
    let plain =
        console.browser.eval(&format!("fetch({}).then((answer) => answer.status)", json!(shot()))).await;
    assert_eq!(plain, 401, "without the login there is no picture");

    console.until("document.querySelectorAll('button.file').length === 2").await;
    let links = console.browser.eval("document.querySelectorAll('#log a').length").await;
    assert_eq!(links, 0, "no address of a file stands in the page");
    console.browser.picture("files").await;
    console.browser.click(&part("file")).await;
    assert_eq!(console.browser.downloaded("报告 1.txt").await, b"all is well");
    assert!(console.browser.address().await.contains("#/t/"), "the page stays");
    // An invalid image is offered as a file; it does not exist, and the page says so.
    console.browser.eval("(document.querySelectorAll('button.file')[1].click(), 1)").await;
    console.until("[...document.querySelectorAll('.part-file')].some((file) => file.innerText.includes('there is no such file'))").await;
    console.assert_only_network_complaints().await;
}

fn shot() -> String {
    format!("/api/files/web%3Achat%3A{CHAT}/shot%2Epng")
}
