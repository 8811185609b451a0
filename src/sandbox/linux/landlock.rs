//! Enforces the file rules with Landlock.

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::domain::Network;
use crate::sandbox::control::Restrictions;
use crate::sandbox::rules::{PathAccess, PathRule};

/// The newest Landlock version that these rules were tested with; an older kernel enforces fewer of them.
const KNOWN: ABI = ABI::V6;

/// Restricts this process and its descendants to the grants.
pub(super) fn enforce(grants: &[PathRule], network: Network) -> Result<Restrictions, String> {
    let status = build(grants, network).map_err(|error| format!("Landlock: {error}"))?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        LandlockStatus::NotEnabled => return Err("Landlock is not enabled in this kernel".to_owned()),
        LandlockStatus::NotImplemented => return Err("this kernel has no Landlock".to_owned()),
    };
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock did not take the rules".to_owned());
    }
    Ok(Restrictions { landlock: abi as u8, gaps: gaps(abi) })
}

/// What a kernel with this Landlock version cannot restrict.
fn gaps(abi: ABI) -> Vec<String> {
    let known = [
        (ABI::V2, "files cannot be moved between folders"),
        (ABI::V3, "files can be emptied that cannot be written"),
        (ABI::V6, "signals can be sent to other processes of the same user"),
        (
            ABI::V6,
            "approved commands can reach abstract sockets of other programs, such as that of an X server",
        ),
    ];
    known.iter().filter(|(since, _)| abi < *since).map(|(_, gap)| (*gap).to_owned()).collect()
}

fn build(grants: &[PathRule], network: Network) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if network == Network::Off {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let mut rules = rules.create()?;
    for grant in grants {
        // A path that was removed meanwhile needs no rule.
        let Ok(place) = PathFd::new(&grant.path) else { continue };
        let rights = rights(grant.access);
        let rights = if grant.path.is_dir() { rights } else { rights & AccessFs::from_file(KNOWN) };
        if !rights.is_empty() {
            rules = rules.add_rule(PathBeneath::new(place, rights))?;
        }
    }
    rules.restrict_self()
}

fn rights(access: PathAccess) -> BitFlags<AccessFs> {
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    match access {
        PathAccess::List => AccessFs::ReadDir.into(),
        PathAccess::Read => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
        PathAccess::Write => AccessFs::from_all(KNOWN) & !devices,
        PathAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
    }
}
