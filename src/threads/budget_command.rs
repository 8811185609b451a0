//! `/budget` in a chat: shows the caps, and lets owners stop all model calls.

use super::actor::Actor;
use crate::domain::{IngressEvent, Purpose};
use crate::render::{BudgetPhrase, cap_line};

impl Actor {
    /// Executes a `/budget` command and returns the reply text.
    pub(super) async fn budget_command(&self, request: &str, event: &IngressEvent) -> String {
        let language = self.conversation.language();
        let stopped = match request.trim().to_lowercase().as_str() {
            "" => {
                self.runtime.budget.ready().await;
                return self.tell_budget(event);
            }
            "stop" => true,
            "resume" => false,
            _ => return BudgetPhrase::Help.say(language),
        };
        let operators = &self.runtime.settings().approval_rules.rights.operators;
        if !operators.contains(&event.author.id) && !self.is_owner(event) {
            tracing::warn!(by = %event.author.id, "budget switch denied");
            return BudgetPhrase::OwnersOnly.say(language);
        }
        match self.runtime.budget.switch(stopped, event.author.id.clone()).await {
            Ok(()) if stopped => BudgetPhrase::NowStopped.say(language),
            Ok(()) => BudgetPhrase::NowResumed.say(language),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "budget switch not stored");
                BudgetPhrase::NotWritten.say(language)
            }
        }
    }

    fn tell_budget(&self, event: &IngressEvent) -> String {
        let language = self.conversation.language();
        let mut payer = self.runtime.payer(&self.id, Purpose::Turn);
        payer.author = Some(event.author.id.clone());
        payer.owner = self.is_owner(event);
        payer.turn = self.conversation.current().cloned();
        let currency = &self.runtime.budget.rules().currency;
        let caps = self.runtime.budget.remaining(&payer);
        // The sums of the project are for owners, as in /usage.
        let shown = caps.iter().filter(|cap| payer.owner || cap.key.of.is_some());
        let mut lines: Vec<String> = shown.map(|cap| cap_line(cap, currency, language)).collect();
        if lines.len() < caps.len() {
            lines.push(BudgetPhrase::ProjectCaps.say(language));
        }
        if lines.is_empty() {
            lines.push(BudgetPhrase::NoCaps.say(language));
        }
        if self.runtime.budget.is_stopped() {
            lines.insert(0, BudgetPhrase::NowStopped.say(language));
        }
        lines.push(BudgetPhrase::Help.say(language));
        lines.join("\n")
    }
}
