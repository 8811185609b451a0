//! All restrictions of the keeper, in the required order.

use super::{capabilities, landlock, seccomp};
use crate::sandbox::report::Restrictions;
use crate::sandbox::rules;
use crate::sandbox::spec::Spec;

/// Restricts this process and its descendants permanently.
pub(in crate::sandbox) fn restrict(spec: &Spec) -> Result<Restrictions, String> {
    capabilities::give_up().map_err(|error| format!("capabilities cannot be given up: {error}"))?;
    let grants = rules::grants(spec);
    let restrictions = landlock::enforce(&grants, spec.network)?;
    seccomp::enforce(spec)?;
    Ok(restrictions)
}
