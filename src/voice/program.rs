//! Runs speech programs in the sandbox of shell commands: without network, without the project, with their input in a
//! folder of their own that is removed afterwards.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{Recogniser, Recording, SttError, Transcript};
use crate::domain::{Class, Network};
use crate::ports::BoxFuture;
use crate::sandbox::{
    self, CommandEnd, LaunchError, MemoryLimiter, ProbeResult, ResourceLimits, RunningCommand, SandboxMode,
    Spec,
};

/// The place of the recording in the arguments of a recogniser.
const FILE: &str = "{file}";
/// Most bytes of a transcript, and of error messages that are read.
const MOST_TEXT: u64 = 1 << 20;
const MOST_ERRORS: u64 = 4096;
/// Most characters of a program's error messages that go to the log.
const MOST_DETAIL: usize = 300;
/// Between SIGTERM and SIGKILL.
const GRACE_MS: u64 = 500;
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Bytes of one second of WAV at 16 kHz with 16 bits.
const WAV_SECOND: u64 = 32_000;

/// Why a program gave no result. The texts are for the log.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("{0} is not installed")]
    Missing(&'static str),
    #[error("no temporary folder: {0}")]
    Folder(#[from] io::Error),
    #[error("the sandbox refuses it: {0}")]
    Sandbox(String),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("the program failed ({ended:?}): {detail}")]
    Failed { ended: CommandEnd, detail: String },
    #[error("the program wrote more than {0} bytes")]
    TooMuch(u64),
    #[error("the program did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// What programs run with; the same for all.
#[derive(Clone, Debug)]
pub struct ProgramRunner {
    /// Our own binary: see [`crate::sandbox::own_binary`].
    pub helper: PathBuf,
    pub mode: SandboxMode,
    /// The sandbox probe of this machine.
    pub found: ProbeResult,
    /// The daemon's `PATH`.
    pub path: Option<String>,
    /// Folders with programs beside those of the system.
    pub readable: Vec<PathBuf>,
    pub memory: MemoryLimiter,
    /// The project directory: a program that is named by a relative path is looked for in it.
    pub project: PathBuf,
}

/// One run of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// A file in its folder.
    pub file: (&'a str, &'a [u8]),
    /// Whether the file is its standard input.
    pub on_stdin: bool,
    pub within: Duration,
    /// Most bytes of its standard output.
    pub most: u64,
}

impl ProgramRunner {
    /// Runs a program to its end and returns its standard output. Dropping the future ends it.
    ///
    /// # Errors
    /// When it cannot be run, fails, writes too much, or takes too long.
    pub async fn run(&self, program: ProgramSpec<'_>) -> Result<Vec<u8>, ProgramError> {
        let running = self.run_unbounded(program);
        tokio::time::timeout(program.within, running)
            .await
            .map_err(|_| ProgramError::TimedOut(program.within))?
    }

    async fn run_unbounded(&self, program: ProgramSpec<'_>) -> Result<Vec<u8>, ProgramError> {
        let isolation = self.found.isolation_for(self.mode).await;
        let isolation = isolation.map_err(|refusal| ProgramError::Sandbox(refusal.to_string()))?;
        let folder = Folder::new(program.file).await?;
        let (name, _) = program.file;
        let redirect = if program.on_stdin { format!(" < {}", quoted(name)) } else { String::new() };
        let argv: Vec<String> = self.resolved(program.argv).collect();
        let words: Vec<String> = argv.iter().map(|word| quoted(&word.replace(FILE, name))).collect();
        let spec = Spec {
            command: format!("exec {}{redirect}", words.join(" ")),
            isolation,
            class: Class::ProjectWritable,
            network: Network::Off,
            project: folder.work.clone(),
            cwd: folder.work.clone(),
            scratch: folder.scratch.clone(),
            hidden: Vec::new(),
            shown: Vec::new(),
            read_only: Vec::new(),
            readable: self.readable.iter().cloned().chain(paths_in(&argv)).collect(),
            aliases: Vec::new(),
            sockets: Vec::new(),
            limits: ResourceLimits::default(),
            grace_ms: GRACE_MS,
        };
        let home = folder.scratch.to_string_lossy().into_owned();
        let environment = [
            ("PATH".to_owned(), self.path.clone().unwrap_or_else(|| USUAL_PATH.to_owned())),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("HOME".to_owned(), home.clone()),
            ("TMPDIR".to_owned(), home),
        ];
        let running = sandbox::start(&self.helper, &spec, &environment, &self.memory).await?;
        let RunningCommand { lifeline, mut end, stdout, stderr, memory } = running;
        // One byte more than allowed tells that there is more.
        let (output, errors) =
            tokio::join!(read(stdout, program.most.saturating_add(1)), read_on(stderr, MOST_ERRORS));
        if output.len() as u64 > program.most {
            lifeline.cut();
            return Err(ProgramError::TooMuch(program.most));
        }
        let ended = end.wait().await?;
        drop((lifeline, memory, folder));
        if ended == CommandEnd::Exited(0) {
            return Ok(output);
        }
        let detail = String::from_utf8_lossy(&errors).trim().chars().take(MOST_DETAIL).collect();
        Err(ProgramError::Failed { ended, detail })
    }

    /// The arguments, with the program itself as an absolute path where it is named by a relative one.
    fn resolved<'a>(&'a self, argv: &'a [String]) -> impl Iterator<Item = String> + 'a {
        argv.iter().enumerate().map(|(index, word)| {
            let relative = index == 0 && word.contains('/') && !word.starts_with('/');
            if relative { self.project.join(word).to_string_lossy().into_owned() } else { word.clone() }
        })
    }

    /// Converts a recording to WAV at 16 kHz, where ffmpeg is installed.
    ///
    /// # Errors
    /// When it is not, or cannot read the recording.
    pub async fn to_wav(&self, recording: Recording, most_secs: u64) -> Result<Recording, ProgramError> {
        if !self.has("ffmpeg") {
            return Err(ProgramError::Missing("ffmpeg"));
        }
        let name = recording.container.file_name();
        let most = most_secs.saturating_add(1).to_string();
        let argv = ["ffmpeg", "-nostdin", "-v", "error", "-i", name, "-vn", "-t", &most, "-ac", "1"];
        let argv = argv.into_iter().chain(["-ar", "16000", "-f", "wav", "-"]).map(str::to_owned);
        let argv: Vec<String> = argv.collect();
        let program = ProgramSpec {
            argv: &argv,
            file: (name, &recording.bytes),
            on_stdin: false,
            within: Duration::from_secs(60),
            most: most_secs.saturating_add(2).saturating_mul(WAV_SECOND),
        };
        Ok(Recording::new(self.run(program).await?))
    }

    /// Whether a program of this name is in `PATH`.
    pub fn has(&self, name: &str) -> bool {
        let path = self.path.as_deref().unwrap_or(USUAL_PATH);
        path.split(':').any(|folder| Path::new(folder).join(name).is_file())
    }
}

/// The folder of one run, with its input in it.
struct Folder {
    work: PathBuf,
    scratch: PathBuf,
    /// Removed on drop.
    _both: TempDir,
}

impl Folder {
    async fn new((name, content): (&str, &[u8])) -> io::Result<Self> {
        let (name, content) = (name.to_owned(), content.to_vec());
        let creating = tokio::task::spawn_blocking(move || {
            let both = tempfile::Builder::new().prefix("shipagent-voice-").tempdir()?;
            let root = both.path().canonicalize()?;
            let (work, scratch) = (root.join("work"), root.join("scratch"));
            std::fs::create_dir(&work)?;
            std::fs::create_dir(&scratch)?;
            #[expect(clippy::disallowed_methods, reason = "input of a program, removed with its folder")]
            std::fs::write(work.join(name), content)?;
            Ok(Self { work, scratch, _both: both })
        });
        creating.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// The absolute paths in the arguments of a program, which it must be able to read: models, and itself. A program in a
/// `bin` folder needs what is beside that folder.
fn paths_in(argv: &[String]) -> impl Iterator<Item = PathBuf> + '_ {
    let named = argv.iter().map(Path::new).filter(|path| path.is_absolute()).map(Path::to_owned);
    let program = argv.first().map(Path::new).filter(|path| path.is_absolute());
    let beside = program.and_then(Path::parent).filter(|folder| folder.ends_with("bin"));
    let beside = beside.and_then(Path::parent).filter(|folder| folder.components().count() > 2);
    named.chain(beside.map(Path::to_owned))
}

/// A word for the shell, taken literally.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The first bytes of a stream. A program that writes more gets a broken pipe.
async fn read(stream: impl AsyncRead + Unpin, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error is what there is.
    drop(stream.take(most).read_to_end(&mut bytes).await);
    bytes
}

/// The first bytes of a stream that is read to its end.
async fn read_on(mut stream: impl AsyncRead + Unpin, most: u64) -> Vec<u8> {
    let bytes = read(&mut stream, most).await;
    drop(tokio::io::copy(&mut stream, &mut tokio::io::sink()).await);
    bytes
}

/// A program that prints what it hears.
#[derive(Clone, Debug)]
pub struct RecogniserProgram {
    pub runner: ProgramRunner,
    /// The program and its arguments; `{file}` stands for the recording.
    pub argv: Vec<String>,
    pub within: Duration,
}

impl Recogniser for RecogniserProgram {
    fn model(&self) -> &str {
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        program.rsplit('/').next().unwrap_or_default()
    }

    fn host(&self) -> &str {
        ""
    }

    fn hear<'a>(&'a self, recording: &'a Recording) -> BoxFuture<'a, Result<Transcript, SttError>> {
        Box::pin(async move {
            let program = ProgramSpec {
                argv: &self.argv,
                file: (recording.container.file_name(), &recording.bytes),
                on_stdin: !self.argv.iter().any(|word| word.contains(FILE)),
                within: self.within,
                most: MOST_TEXT,
            };
            match self.runner.run(program).await {
                Ok(output) => {
                    let text = String::from_utf8_lossy(&output).trim().to_owned();
                    Ok(Transcript { text, language: None })
                }
                // A program that cannot read the file says so by failing.
                Err(error @ ProgramError::Failed { .. }) => Err(SttError::Format(error.to_string())),
                Err(error) => Err(SttError::Refused(error.to_string())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_read_itself_its_models_and_what_is_beside_its_bin_folder() {
        for (argv, expected) in [
            (
                vec!["/opt/stt/bin/hear", "-m", "/models/a.bin", "x"],
                vec!["/opt/stt/bin/hear", "/models/a.bin", "/opt/stt"],
            ),
            (vec!["/usr/bin/hear"], vec!["/usr/bin/hear"]),
            (vec!["hear", "{file}"], vec![]),
        ] {
            let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!(paths_in(&argv).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn words_reach_the_program_as_they_are() {
        for word in ["a b", "it's", "$(touch x)", "`x`", "a;b", ""] {
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
