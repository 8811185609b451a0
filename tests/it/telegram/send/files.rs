//! Attachments: with the right kind, in the right place, with their captions.

use shipagent::domain::{AttachmentKind, Intent, StoredFile};
use shipagent::ports::DeliveryError;
use shipagent::store::replace_file;

use super::scene::{ANN, FORUM, SenderScene, entry, replying, thread, topic};
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::fault::Fault;

/// A file of Ann's thread with this content.
fn file(
    scene: &SenderScene,
    name: &str,
    media_type: &str,
    kind: AttachmentKind,
    caption: Option<&str>,
) -> Intent {
    let file = StoredFile::new(thread(ANN), "", name);
    let path = scene.dir.path().join("files").join(file.path());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    replace_file(&path, name.as_bytes(), 0o600).unwrap();
    Intent::Attachment {
        file,
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        kind,
        caption: caption.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_file_arrives_as_what_it_is_with_its_words() {
    let scene = SenderScene::new().await;
    let deploys = scene.fake.group(FORUM).topic("Deploys");
    let asked = scene.fake.group(FORUM).say_in_topic(&scene.fake.user(ANN, "Ann"), deploys, "send it");
    use AttachmentKind::{File, Image, Voice};
    for (index, (name, media_type, kind)) in [
        ("a.png", "image/png", Image),
        ("b.ogg", "audio/ogg", Voice),
        ("c 报告.pdf", "application/pdf", File),
    ]
    .into_iter()
    .enumerate()
    {
        let meant = file(&scene, name, media_type, kind, Some("**here**"));
        let sent = entry(&topic(FORUM, deploys), "run_1", index, meant);
        scene.deliver(replying(sent, asked)).await.unwrap();
    }
    let seen = scene.fake.read(|world| world.visible(FORUM));
    let seen: Vec<_> = seen
        .iter()
        .filter(|seen| seen.by_bot)
        .map(|m| (m.media.unwrap(), m.text.as_str(), m.topic, m.reply_to))
        .collect();
    let there = Some(deploys);
    assert_eq!(
        seen,
        [
            ("photo", "here", there, Some(asked)),
            ("voice", "here", there, None),
            ("document", "here", there, None)
        ]
    );
    let kept: Vec<_> = scene.fake.read(|world| world.files.values().map(|file| file.bytes.clone()).collect());
    assert!(kept.contains(&"c 报告.pdf".as_bytes().to_vec()));
}

#[tokio::test]
async fn words_too_long_for_a_caption_are_said_once_before_the_file() {
    let scene = SenderScene::new().await;
    let words = "word ".repeat(400);
    let sent = entry(
        &thread(ANN),
        "run_1",
        0,
        file(&scene, "a.txt", "text/plain", AttachmentKind::File, Some(&words)),
    );
    scene.fake.plan(Fault::too_many(0).once().on("sendDocument"));
    assert!(scene.deliver(sent.clone()).await.is_err());
    scene.deliver(sent).await.unwrap();
    let seen = scene.fake.read(|world| world.visible(ANN));
    assert_eq!(seen.iter().map(|seen| seen.media).collect::<Vec<_>>(), [None, Some("document")]);
    assert_eq!((seen[0].text.as_str(), seen[1].text.as_str()), (words.trim(), ""));
}

#[tokio::test]
async fn of_words_in_several_parts_before_a_file_none_is_said_twice() {
    let scene = SenderScene::new().await;
    let words: String = (0..900).map(|number| format!("word{number} ")).collect();
    let meant = file(&scene, "a.txt", "text/plain", AttachmentKind::File, Some(&words));
    let sent = entry(&thread(ANN), "run_1", 0, meant);
    scene.fake.plan(Fault::too_many(0).once().on("sendMessage").after(1));
    assert!(scene.deliver(sent.clone()).await.is_err());
    scene.deliver(sent).await.unwrap();
    let seen = scene.fake.read(|world| world.visible(ANN));
    assert_eq!(seen.iter().map(|seen| seen.media).collect::<Vec<_>>(), [None, None, Some("document")]);
    assert_eq!(format!("{} {}", seen[0].text, seen[1].text), words.trim());
}

#[tokio::test]
async fn a_picture_that_is_refused_arrives_as_a_file() {
    let scene = SenderScene::new().await;
    scene.fake.plan(Fault::Refuse(Refusal::bad("PHOTO_INVALID_DIMENSIONS")).once().on("sendPhoto"));
    let sent = file(&scene, "a.png", "image/png", AttachmentKind::Image, None);
    scene.deliver(entry(&thread(ANN), "run_1", 0, sent)).await.unwrap();
    assert_eq!(scene.fake.read(|world| world.visible(ANN)[0].media), Some("document"));
}

#[tokio::test]
async fn a_file_that_is_gone_or_empty_is_given_up_with_the_reason() {
    let scene = SenderScene::new().await;
    let sent = file(&scene, "a.txt", "text/plain", AttachmentKind::File, None);
    let path = scene.dir.path().join("files").join(StoredFile::new(thread(ANN), "", "a.txt").path());
    replace_file(&path, b"", 0o600).unwrap();
    for words in ["empty", "cannot be read"] {
        let refused = scene.deliver(entry(&thread(ANN), "run_1", 0, sent.clone())).await;
        let Err(DeliveryError::Permanent { reason }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains(words), "{reason}");
        std::fs::remove_file(&path).ok();
    }
}
