//! Runs the subcommands of `shipagent service` through systemd's own programs.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::unit::{Manager, Unit, default_name, is_name, project_of};
use crate::cli::{Exit, InstallArgs, ServiceCommand, UnitArgs};
use crate::commands::setup::load_or_say;
use crate::config::{Env, operator_language};
use crate::domain::Language;
use crate::phrases::service as words;
use crate::ports::AdapterTable;
use crate::store::replace_file;

const SYSTEM_UNITS: &str = "/etc/systemd/system";

/// Units hold no secret, and systemd expects that everybody may read them.
const UNIT_MODE: u32 = 0o644;

/// Why a subcommand cannot do its work, in the operator's language.
#[derive(Debug, thiserror::Error)]
enum ServiceError {
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What every subcommand needs to know.
struct ServiceContext<'a> {
    project: PathBuf,
    env: &'a Env,
    language: Language,
    out: &'a mut dyn Write,
}

/// Runs a subcommand. Results go to `out`, errors to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub(in crate::commands) fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    command: ServiceCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let language = operator_language(project, env);
    // A unit for a project that cannot start would restart for ever.
    if matches!(command, ServiceCommand::Install(_)) && load_or_say(project, env, adapters, err)?.is_none() {
        return Ok(Exit::Configuration);
    }
    let done = fs::canonicalize(project).map_err(ServiceError::from).and_then(|project| {
        let mut context = ServiceContext { project, env, language, out };
        match command {
            ServiceCommand::Install(args) => context.install(&args),
            ServiceCommand::Uninstall(unit) => context.uninstall(&unit),
            ServiceCommand::Status(unit) => context.pass_on(&unit, "systemctl", &["status", "--no-pager"]),
            ServiceCommand::Restart(unit) => context.pass_on(&unit, "systemctl", &["restart"]),
            ServiceCommand::Logs { unit, follow, lines } => context.logs(&unit, follow, lines),
        }
    });
    done.or_else(|error| {
        writeln!(err, "{error}")?;
        Ok(Exit::Failed)
    })
}

impl ServiceContext<'_> {
    fn install(&mut self, args: &InstallArgs) -> Result<Exit, ServiceError> {
        let user = self.for_user(&args.unit) && args.run_as.is_none();
        let manager = if user {
            Manager::User
        } else {
            Manager::System { run_as: self.run_as(args.run_as.as_deref())? }
        };
        let binary = std::env::current_exe()?;
        let text = Unit {
            manager: &manager,
            binary: self.one_line(&binary)?,
            project: self.one_line(&self.project)?,
        }
        .text();
        if args.print {
            self.out.write_all(text.as_bytes())?;
            return Ok(Exit::Ok);
        }
        self.need_systemd(user)?;
        let (name, file) = self.unit_file(user, args.unit.name.as_deref())?;
        let before = fs::read_to_string(&file);
        let was_there = before.is_ok();
        match before {
            Ok(there) if project_of(&there).map(PathBuf::from).as_ref() != Some(&self.project) => {
                return Err(self.refuse(words::name_taken(&name, file.display(), self.language)));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(self.unwritable(&file, &error)),
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| self.unwritable(&file, &error))?;
        }
        replace_file(&file, text.as_bytes(), UNIT_MODE).map_err(|error| self.unwritable(&file, &error))?;
        self.systemctl(user, &["daemon-reload"])?;
        self.systemctl(user, &["enable", "--now", &name])?;
        // `--now` leaves a unit alone that runs, perhaps with an earlier binary.
        if was_there {
            self.systemctl(user, &["restart", &name])?;
        }
        writeln!(self.out, "{}", words::installed(&name, file.display(), self.language))?;
        if user {
            writeln!(self.out, "{}", words::linger(self.language))?;
        }
        Ok(Exit::Ok)
    }

    fn uninstall(&mut self, args: &UnitArgs) -> Result<Exit, ServiceError> {
        let (user, name, file) = self.installed(args)?;
        self.need_systemd(user)?;
        self.systemctl(user, &["disable", "--now", &name])?;
        fs::remove_file(&file).map_err(|error| self.unwritable(&file, &error))?;
        self.systemctl(user, &["daemon-reload"])?;
        writeln!(self.out, "{}", words::uninstalled(&name, self.language))?;
        Ok(Exit::Ok)
    }

    fn logs(&mut self, args: &UnitArgs, follow: bool, lines: u32) -> Result<Exit, ServiceError> {
        let lines = format!("--lines={lines}");
        let mut options = vec![lines.as_str(), if follow { "--follow" } else { "--no-pager" }];
        // The name follows this option.
        options.push(if self.installed(args)?.0 { "--user-unit" } else { "--unit" });
        self.pass_on(args, "journalctl", &options)
    }

    /// Runs a program of systemd on the project's unit, in this terminal.
    fn pass_on(&mut self, args: &UnitArgs, program: &str, options: &[&str]) -> Result<Exit, ServiceError> {
        let (user, name, _) = self.installed(args)?;
        self.need_systemd(user)?;
        self.out.flush()?;
        let mut command = self.program(program);
        if user && program == "systemctl" {
            command.arg("--user");
        }
        let ended =
            command.args(options).arg(&name).status().map_err(|error| self.missing(program, &error))?;
        Ok(if ended.success() { Exit::Ok } else { Exit::Failed })
    }

    /// Whether a user's unit is meant: asked for, or the only kind that this person can write.
    fn for_user(&self, args: &UnitArgs) -> bool {
        args.user || !rustix::process::geteuid().is_root()
    }

    /// The user that a service of the machine runs as: the named one, else the owner of the project.
    fn run_as(&self, named: Option<&str>) -> Result<String, ServiceError> {
        let run_as = match named {
            Some(name) => name.to_owned(),
            None => user_name(fs::metadata(&self.project)?.uid()),
        };
        // As root, a command could leave the sandbox's limits on files of other users.
        if run_as == "root" || run_as == "0" {
            return Err(self.refuse(words::not_as_root(self.project.display(), self.language)));
        }
        if !is_name(&run_as) {
            return Err(self.refuse(words::bad_name(&run_as, self.language)));
        }
        Ok(run_as)
    }

    /// The name and the file of a unit.
    fn unit_file(&self, user: bool, name: Option<&str>) -> Result<(String, PathBuf), ServiceError> {
        let name = name.map_or_else(|| default_name(&self.project), |name| name.replace(".service", ""));
        if !is_name(&name) {
            return Err(self.refuse(words::bad_name(&name, self.language)));
        }
        let name = format!("{name}.service");
        let folder = if user { self.user_units()? } else { PathBuf::from(SYSTEM_UNITS) };
        Ok((name.clone(), folder.join(name)))
    }

    fn user_units(&self) -> Result<PathBuf, ServiceError> {
        let config = self.env.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || self.env.get("HOME").map(|home| Path::new(&home).join(".config"));
        let config =
            config.or_else(home).ok_or_else(|| self.refuse(words::no_home(self.language).to_owned()))?;
        Ok(config.join("systemd/user"))
    }

    /// The installed unit of this project: whether it is a user's, its name and its file.
    fn installed(&self, args: &UnitArgs) -> Result<(bool, String, PathBuf), ServiceError> {
        let managers: &[bool] = if args.user { &[true] } else { &[false, true] };
        for user in managers {
            let Ok((name, file)) = self.unit_file(*user, args.name.as_deref()) else { continue };
            let there = fs::read_to_string(&file).ok().and_then(|text| project_of(&text));
            if there.map(PathBuf::from).as_ref() == Some(&self.project) {
                return Ok((*user, name, file));
            }
        }
        Err(self.refuse(words::not_installed(self.project.display(), self.language)))
    }

    /// Refuses where systemd does not manage services: in a container, or on another system.
    fn need_systemd(&self, user: bool) -> Result<(), ServiceError> {
        let mut command = self.program("systemctl");
        if user {
            command.arg("--user");
        }
        let state = command.arg("is-system-running").stderr(Stdio::null()).output();
        let state = state.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned());
        match state.as_deref() {
            Ok("" | "offline" | "unknown") | Err(_) => {
                Err(self.refuse(words::no_systemd(self.language).to_owned()))
            }
            Ok(_) => Ok(()),
        }
    }

    fn systemctl(&self, user: bool, args: &[&str]) -> Result<(), ServiceError> {
        let mut command = self.program("systemctl");
        if user {
            command.arg("--user");
        }
        let done = command.args(args).output().map_err(|error| self.missing("systemctl", &error))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        Err(self.refuse(words::refused_by_systemd(&args.join(" "), &said, self.language)))
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.stdin(Stdio::null());
        command
    }

    /// A path as one line of UTF-8, which is all that a unit can hold.
    fn one_line<'p>(&self, path: &'p Path) -> Result<&'p str, ServiceError> {
        let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
        text.ok_or_else(|| self.refuse(words::odd_path(path.display(), self.language)))
    }

    fn unwritable(&self, file: &Path, error: &io::Error) -> ServiceError {
        self.refuse(words::cannot_write(file.display(), error, self.language))
    }

    fn missing(&self, program: &str, error: &io::Error) -> ServiceError {
        self.refuse(words::cannot_start(program, error, self.language))
    }

    #[expect(clippy::unused_self, reason = "reads as part of the context's refusals")]
    fn refuse(&self, text: String) -> ServiceError {
        ServiceError::Refused(text)
    }
}

/// The name of a user by the machine's own list; the number where it is not there, which systemd takes as well.
fn user_name(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    };
    users.lines().find_map(of_line).unwrap_or_else(|| uid.to_string())
}
