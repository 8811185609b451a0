//! The pages beside the conversations: tasks and memory.

use serde_json::json;

use super::project::{EN, ZH, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::Project;
use crate::fakes::webdriver::{Colours, Viewport, key};

const DAILY: &str = "---\nschedule: \"0 9 * * 1-5\"\ntimezone: Asia/Shanghai\ndeliver: none\n---\nlist: .\n";

fn with_tasks() -> Project {
    let project = offline();
    project.write(".ship/tasks/daily.md", DAILY);
    project.write(".ship/tasks/broken.md", "---\nevery: 1h\ntimezone: CST\n---\nHello\n");
    project
}

fn task(id: &str, inner: &str) -> String {
    format!("[data-task={id}] {}", part(inner))
}

/// Both colour schemes, each without a violation of the accessibility rules.
pub(super) async fn look(console: &Console, name: &str) {
    for (colours, suffix) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("{name}-{suffix}")).await;
        console.assert_accessible().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_run_paused_edited_and_removed_on_their_page() {
    let project = with_tasks();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click(&part("page-tasks")).await;
    console.until("document.querySelectorAll('[data-testid=task]').length === 2").await;
    assert_eq!(console.browser.eval("document.activeElement.id").await, "page-title");
    let mistake = console.text_of(&task("broken", "task-mistake")).await;
    assert!(mistake.starts_with("Line 3: timezone"), "{mistake}");
    let next = console.text_of(&task("daily", "task-next")).await;
    assert!(next.starts_with("next in "), "{next}");
    look(&console, "tasks").await;

    // A run is told with its conversation, and its end shows without a reload.
    console.browser.click(&task("daily", "task-run")).await;
    console
        .until("document.querySelector('[data-testid=tasks-result] a[href^=\"#/t/task:chat:daily\"]')")
        .await;
    console.until("document.querySelector('[data-task=daily] .outcome')?.dataset.outcome === 'done'").await;
    console.browser.click(&task("daily", "task-pause")).await;
    console.until("document.querySelector('[data-task=daily] [data-testid=task-status]').dataset.status === 'paused'").await;
    console.browser.click(&task("daily", "task-resume")).await;
    console.until("document.querySelector('[data-task=daily] [data-testid=task-status]').dataset.status === 'waiting'").await;

    // A mistake is named by its line before it is saved.
    console.browser.click(&task("daily", "task-open")).await;
    console.until("document.querySelectorAll('.next-times li').length === 5").await;
    console.until_visible("task-history", true).await;
    look(&console, "task").await;
    let file = part("task-file");
    console.browser.eval(&edit("schedule: \"61 9 * * *\"")).await;
    console.until_visible("task-line-mistake", true).await;
    assert!(console.text_of(&part("task-line-mistake")).await.starts_with("Line 2"));
    assert_eq!(console.browser.eval("document.querySelector('.line-numbers .wrong').textContent").await, "2");
    assert_eq!(
        console.browser.eval("document.querySelector('[data-testid=task-save]').disabled").await,
        true
    );
    console.browser.picture("task-mistake").await;
    console.browser.eval(&edit("schedule: \"30 8 * * *\"")).await;
    console.until("document.querySelector('[data-testid=task-meaning]').innerText.includes('08:30')").await;
    // It is unsaved, and survives another page.
    console.browser.click(&part("page-memory")).await;
    console.until_visible("memory-search", true).await;
    console.browser.click(&part("page-tasks")).await;
    console.browser.click(&task("daily", "task-open")).await;
    let kept = format!("document.querySelector({})?.value.includes('30 8')", json!(file));
    console.until(&kept).await;
    console.browser.click(&part("task-save")).await;
    console.until_told("tasks-result", "daily is saved.").await;
    let stored = std::fs::read_to_string(project.path().join(".ship/tasks/daily.md")).unwrap();
    assert!(stored.contains("30 8 * * *"), "{stored}");

    // A file that changed meanwhile is not overwritten.
    console.browser.eval(&edit("schedule: \"45 8 * * *\"")).await;
    project.write(".ship/tasks/daily.md", &DAILY.replace("0 9", "15 7"));
    console.until("!document.querySelector('[data-testid=task-save]').disabled").await;
    console.browser.click(&part("task-save")).await;
    console.until("document.querySelector('.editor [data-testid=answer-problem]').innerText.includes('changed meanwhile')").await;

    console.browser.click(&part("remove")).await;
    console.until("document.activeElement.dataset.testid === 'remove-no'").await;
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until("document.activeElement.dataset.testid === 'remove'").await;
    assert!(project.path().join(".ship/tasks/daily.md").exists());
    console.assert_only_network_complaints().await;
}

/// Replaces the schedule in the task's file, as typing would.
fn edit(to: &str) -> String {
    format!(
        "(() => {{ const area = document.querySelector('[data-testid=task-file]'); \
         area.value = area.value.replace(/^schedule.*$/m, {}); area.dispatchEvent(new Event('input')); }})()",
        json!(to)
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_made_on_a_phone_in_chinese() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, Viewport::Phone, ZH).await;
    console.browser.click("#drawer-open").await;
    console.browser.click(&part("page-tasks")).await;
    console.until_visible("tasks-none", true).await;
    look(&console, "tasks-phone-zh").await;
    console.browser.click(&part("task-new")).await;
    console.browser.type_into(&part("task-name"), "water").await;
    let file = "---\nevery: 2h\nkind: message\ndeliver: none\n---\n喝水";
    let put = format!(
        "(() => {{ const area = document.querySelector('[data-testid=task-file]'); area.value = {}; area.dispatchEvent(new Event('input')); }})()",
        json!(file)
    );
    console.browser.eval(&put).await;
    console.until("document.querySelectorAll('.next-times li').length === 5").await;
    look(&console, "task-new-phone-zh").await;
    console.browser.click(&part("task-save")).await;
    console
        .until("location.hash === '#/tasks/water' && document.querySelector('[data-testid=task-details]')")
        .await;
    assert_eq!(std::fs::read_to_string(project.path().join(".ship/tasks/water.md")).unwrap(), file);
    let fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#page').scrollWidth <= innerWidth";
    assert_eq!(console.browser.eval(fits).await, true, "nothing sticks out");
    // The address alone opens the page again, and the conversation is one tap away.
    console.browser.reload().await;
    console.until_visible("task-details", true).await;
    console.browser.click(&part("page-close")).await;
    console.until_visible("composer", true).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_shown_per_scope_searched_forgotten_edited_and_undone() {
    let project = offline();
    project.write(".ship/memory/project.md", "- The release is on Fridays.\n- Deploys need two approvals.\n");
    project.write(".ship/memory/users/telegram%3Auser%3A1001.md", "- Ada prefers short answers.\n");
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click(&part("page-memory")).await;
    let items = "document.querySelectorAll('[data-testid=memory-item]').length";
    console.until(&format!("{items} === 2")).await;
    console.until("document.querySelectorAll('[data-testid=memory-scope]').length === 2").await;
    look(&console, "memory").await;

    console.browser.click(&part("forget")).await;
    console.until("document.activeElement.dataset.testid === 'forget-no'").await;
    console.browser.click(&part("forget-yes")).await;
    console.until_told("memory-result", "It is forgotten.").await;
    console.until(&format!("{items} === 1")).await;
    let stored = std::fs::read_to_string(project.path().join(".ship/memory/project.md")).unwrap();
    assert!(!stored.contains("Fridays") && stored.contains("two approvals"), "{stored}");

    console.browser.click("[data-testid=memory-editor] summary").await;
    console.browser.type_into(&part("memory-text"), "- The harbour opens at six.\n").await;
    console.browser.click(&part("memory-save")).await;
    console.until_told("memory-result", "Memory is saved.").await;
    console.until(&format!("{items} === 2")).await;
    console.until("document.querySelector('[data-testid=ledger-line]').dataset.op === 'edit'").await;
    console.browser.click(&part("undo")).await;
    console.browser.click(&part("undo-yes")).await;
    console.until_told("memory-result", "The last change was undone.").await;
    console.until(&format!("{items} === 1")).await;

    console.browser.type_into(&part("memory-search"), &format!("short answers{}", key::ENTER)).await;
    console
        .until("document.querySelector('[data-testid=memory-found]')?.innerText.includes('Ada prefers')")
        .await;
    console.browser.click("[data-scope='telegram:user:1001']").await;
    console
        .until("document.querySelector('[data-testid=memory-item]')?.innerText.includes('Ada prefers')")
        .await;
    look(&console, "memory-person").await;
    console.assert_no_complaints().await;
}
