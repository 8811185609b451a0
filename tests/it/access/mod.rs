//! Who may talk and decide: pairing, roles, rights, and the audit trail.

pub(crate) mod audit;
mod pairing;
mod rights;
