//! Assigns targets to acts: a target belongs to the act of its own clause. Where two acts could have a target, or acts
//! precede their targets in one clause and follow them in another, the reply is unclear.

use super::grammar::{ReplyPart, Target, TargetGroup};

/// The acts and targets of one clause.
#[derive(Debug)]
enum Clause {
    /// `ok`.
    Act(TargetGroup),
    /// `A1, A2`.
    Targets(Vec<Target>),
    /// `approve A1`.
    ActFirst(Vec<TargetGroup>),
    /// `A1 ok`.
    TargetFirst(Vec<TargetGroup>),
    /// `the rest no`: may have this order beside both others.
    Rest(TargetGroup),
}

/// The groups of a reply. Targets without an act join a neighbour only where all acts are on the same side of their
/// targets.
pub(super) fn groups(row: &[(ReplyPart, usize)]) -> Option<Vec<TargetGroup>> {
    let clauses = row.chunk_by(|one, other| one.1 == other.1).map(clause).collect::<Option<Vec<Clause>>>()?;
    let act_first = clauses.iter().any(|clause| matches!(clause, Clause::ActFirst(_)));
    let target_first = clauses.iter().any(|clause| matches!(clause, Clause::TargetFirst(_)));
    if act_first && target_first {
        return None;
    }
    let mut groups: Vec<TargetGroup> = Vec::new();
    // Acts without targets, and targets that wait for the act after them.
    let mut leading: Option<TargetGroup> = None;
    let mut waiting: Vec<Target> = Vec::new();
    let mut closed = false;
    for clause in clauses {
        match clause {
            _ if closed => return None,
            Clause::Act(act) if groups.is_empty() && waiting.is_empty() => match &mut leading {
                Some(known) => known.join(act.act?, act.negated, *act.clauses.first()?)?,
                None => leading = Some(act),
            },
            // `approve A1, ok`: a last act without targets repeats the first.
            Clause::Act(act) => {
                let [only] = groups.as_mut_slice() else { return None };
                only.join(act.act?, act.negated, *act.clauses.first()?)?;
                closed = true;
            }
            Clause::Targets(targets) if act_first => groups.last_mut()?.targets.extend(targets),
            Clause::Targets(_) if leading.is_some() && !target_first => return None,
            Clause::Targets(targets) => waiting.extend(targets),
            Clause::ActFirst(more) => groups.extend(more),
            Clause::TargetFirst(mut more) => {
                let first = more.first_mut()?;
                waiting.append(&mut first.targets);
                first.targets = std::mem::take(&mut waiting);
                groups.append(&mut more);
            }
            Clause::Rest(_) if !waiting.is_empty() => return None,
            Clause::Rest(group) => groups.push(group),
        }
    }
    finish(groups, leading, waiting, row)
}

fn finish(
    mut groups: Vec<TargetGroup>,
    leading: Option<TargetGroup>,
    waiting: Vec<Target>,
    row: &[(ReplyPart, usize)],
) -> Option<Vec<TargetGroup>> {
    match (groups.first_mut(), leading) {
        (Some(first), Some(lead)) => first.join(lead.act?, lead.negated, *lead.clauses.first()?)?,
        (None, Some(lead)) => groups.push(lead),
        (_, None) => {}
    }
    match (groups.is_empty(), waiting.is_empty()) {
        (true, false) => {
            let clauses = vec![row.first()?.1];
            Some(vec![TargetGroup {
                act: None,
                negated: false,
                targets: waiting,
                marks: Vec::new(),
                clauses,
            }])
        }
        (false, true) => Some(groups),
        _ => None,
    }
}

fn clause(row: &[(ReplyPart, usize)]) -> Option<Clause> {
    let number = row.first()?.1;
    let parts: Vec<ReplyPart> = row.iter().map(|(part, _)| *part).collect();
    let is_act = |part: &ReplyPart| matches!(part, ReplyPart::Act { .. });
    let acts = parts.iter().filter(|part| is_act(part)).count();
    if acts == 0 {
        let targets = parts.iter().filter_map(ReplyPart::target).collect();
        return Some(Clause::Targets(targets));
    }
    let act_first = parts.first().is_some_and(is_act);
    let mut groups: Vec<TargetGroup> = Vec::new();
    for run in parts.chunk_by(|one, other| is_act(one) == is_act(other)) {
        let targets: Vec<Target> = run.iter().filter_map(ReplyPart::target).collect();
        match (targets.is_empty(), act_first) {
            (false, true) => groups.last_mut()?.targets = targets,
            (false, false) => {
                let mut group = TargetGroup::new(None, false, number);
                group.targets = targets;
                groups.push(group);
            }
            (true, true) => groups.push(acts_of(run, number)?),
            // A negation after the targets applies to all of them: `全部不同意` denies all.
            (true, false) => {
                let act = acts_of(run, number)?;
                groups.last_mut()?.act = act.act;
            }
        }
    }
    if acts == parts.len() {
        return groups.pop().map(Clause::Act);
    }
    // `approve A1 A2 deny deny A3`: A2 could belong to either act.
    let doubled = parts.windows(2).any(|pair| pair.iter().all(is_act));
    if doubled && groups.len() > 1 {
        return None;
    }
    // `approve A1 👍`; but in `approve A1 A2 deny A3 deny` each target has two acts.
    if act_first && let Some(last) = groups.pop_if(|last| last.targets.is_empty()) {
        let [only] = groups.as_mut_slice() else { return None };
        only.join(last.act?, last.negated, number)?;
    }
    if groups.iter().any(|group| group.act.is_none()) {
        return None;
    }
    Some(match (act_first, groups.as_slice()) {
        (false, [rest]) if rest.targets == [Target::Rest] => Clause::Rest(groups.pop()?),
        (true, _) => Clause::ActFirst(groups),
        (false, _) => Clause::TargetFirst(groups),
    })
}

/// Consecutive acts with the same meaning.
fn acts_of(run: &[ReplyPart], clause: usize) -> Option<TargetGroup> {
    let mut group: Option<TargetGroup> = None;
    for part in run {
        let ReplyPart::Act { act, negated } = part else { return None };
        match &mut group {
            Some(group) => group.join(*act, *negated, clause)?,
            None => group = Some(TargetGroup::new(Some(*act), *negated, clause)),
        }
    }
    group
}

impl ReplyPart {
    const fn target(&self) -> Option<Target> {
        match self {
            Self::Target(target) => Some(*target),
            Self::Act { .. } => None,
        }
    }
}
