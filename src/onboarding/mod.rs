//! The first configuration of a project, asked in the terminal (`shipagent init`) and in the console by the same steps.
//!
//! `steps` and `providers` are the flow as data, `choices` turns answers into a [`NewProject`], `checks` tries models and
//! platforms out, `project_files` writes the project. The console's side of it is `service`.

mod checks;
mod choices;
mod env_file;
mod project_files;
mod providers;
mod service;
mod steps;

pub(crate) use checks::{Checks, RealChecks};
pub(crate) use choices::{
    Known, ModelAnswer, ModelAnswered, NewProject, NewSection, is_template, model_answer, section_of, text,
    usable_address, usable_name, usable_variable,
};
pub(crate) use project_files::{
    FileWritten, IfExists, OverwriteRules, WriteError, WriteResult, variables, write_project, write_template,
};
pub(crate) use providers::{OTHER, PROVIDERS, ProviderDef, provider, provider_at};
pub(crate) use service::ProjectOnboarding;
pub(crate) use steps::{OnboardingStep, steps_of};
