//! Durations in order, memory of a process, waits for the disk.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Durations of the same thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// These and others.
    pub(crate) fn and(&self, others: &Self) -> Self {
        self.0.iter().chain(&others.0).copied().collect()
    }

    /// The value that `percent` of the samples do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent).div_ceil(100).clamp(1, sorted.len()) - 1]
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(samples: I) -> Self {
        Self(samples.into_iter().collect())
    }
}

/// As milliseconds are read best.
pub(crate) fn ms(duration: Duration) -> String {
    format!("{:.1} ms", millis(duration))
}

/// Milliseconds with their fractions.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What a process has in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// All of it, in MB.
    pub(crate) resident: f64,
    /// The part that is no file's content, in MB.
    pub(crate) anonymous: f64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
        };
        Self { resident: field("VmRSS"), anonymous: field("RssAnon") }
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} MB (anonymous {:.1} MB)", self.resident, self.anonymous)
    }
}

/// How long the disk under `dir` takes to make a small append sure.
pub(crate) fn raw_syncs(dir: &Path, count: usize) -> Samples {
    let path = dir.join("raw-sync");
    let mut file = File::options().create(true).append(true).open(&path).unwrap();
    let line = [b'x'; 600];
    let samples = (0..count).map(|_| {
        file.write_all(&line).unwrap();
        let begun = Instant::now();
        file.sync_data().unwrap();
        begun.elapsed()
    });
    let samples = samples.collect();
    std::fs::remove_file(path).unwrap();
    samples
}

/// The crowd's clients and the model's connections to it are all in this process.
pub(crate) fn allow_many_sockets() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}
