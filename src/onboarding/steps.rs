//! The steps of the onboarding, in their order.

/// One step. Each can be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnboardingStep {
    Language,
    Provider,
    /// The key, or the address of a server without a line in the table; then one call of the model.
    Key,
    Model,
    /// Name and purpose of the agent, for a new `Agent.md`.
    Agent,
    Platform,
    /// The first person who may approve what the agent asks for.
    Owner,
    Done,
}

pub(crate) const STEPS: [OnboardingStep; 8] = [
    OnboardingStep::Language,
    OnboardingStep::Provider,
    OnboardingStep::Key,
    OnboardingStep::Model,
    OnboardingStep::Agent,
    OnboardingStep::Platform,
    OnboardingStep::Owner,
    OnboardingStep::Done,
];

impl OnboardingStep {
    /// The name in the console.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::Provider => "provider",
            Self::Key => "key",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Platform => "platform",
            Self::Owner => "owner",
            Self::Done => "done",
        }
    }
}

/// The steps of one project: an `Agent.md` that its owner wrote is not asked for.
pub(crate) fn steps_of(own_agent_md: bool) -> impl Iterator<Item = OnboardingStep> {
    STEPS.into_iter().filter(move |step| !(own_agent_md && *step == OnboardingStep::Agent))
}
