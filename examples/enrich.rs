//! shipagent with a step of one's own between an accepted message and its turn: the text of each message goes through a
//! program, and what that prints is added to the message. Run it with `ENRICH_PROGRAM=/path/to/program`.

use std::ffi::OsString;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use shipagent::domain::Said;
use shipagent::ports::{BoxFuture, EnrichError, EnrichInput, EnrichStep};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

fn main() -> ExitCode {
    let mut adapters = shipagent::adapters::builtin();
    if let Some(program) = std::env::var_os("ENRICH_PROGRAM") {
        adapters = adapters.with_step(Arc::new(ProgramStep { program }));
    }
    shipagent::program::run(&adapters)
}

/// Gives the text to a program and adds its output.
#[derive(Debug)]
struct ProgramStep {
    program: OsString,
}

impl ProgramStep {
    async fn output(&self, text: &str) -> std::io::Result<String> {
        let mut child = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl EnrichStep for ProgramStep {
    fn name(&self) -> &str {
        "program"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn applies(&self, said: &Said) -> bool {
        !said.text.is_empty()
    }

    fn enrich<'a>(&'a self, input: EnrichInput<'a>) -> BoxFuture<'a, Result<Said, EnrichError>> {
        Box::pin(async move {
            let mut said = input.said.clone();
            let output = self.output(&said.text).await.map_err(|error| EnrichError(error.to_string()))?;
            said.text = format!("{}\n\n{output}", said.text);
            Ok(said)
        })
    }
}
