//! From defaults, tables and words to the one configuration that a run has.

use super::config_type::{Checked, ConfigType, Hooks};
use super::merge::{merge, merge_variants, nest};
use super::text::{candidates, set_untyped};
use crate::value::{
    KeyFault, PathStep, Snapshot, Value, ValueError, differences, hint, key_steps, non_finite_word,
};

/// One `--set` or variable of the environment: where, and the text as it was given.
pub(crate) type SetText = (Vec<String>, String);

impl ConfigType {
    /// The resolved configuration: the defaults of the type, `layers` over them key by key, lowest
    /// first, and `texts` over both. A later variant of an enum replaces an earlier one.
    pub(crate) fn resolve_layers(
        &self,
        layers: &[&Value],
        texts: &[SetText],
    ) -> Result<Value, ValueError> {
        let Some(hooks) = self.hooks else { return resolve_untyped(layers, texts) };
        let resolver = Resolver { hooks, defaults: (hooks.defaults)()? };
        let mut overrides = Value::object();
        for layer in layers {
            refuse_non_finite(layer)?;
            resolver.overlay(&mut overrides, layer);
        }
        let overrides = Words { resolver: &resolver, tables: overrides, texts }.read()?;
        let checked =
            resolver.attempt(&overrides).map_err(|error| resolver.blame(&overrides, error))?;
        resolver.refuse_ignored(&overrides, &checked)?;
        resolver.refuse_untraced(&overrides, &checked)?;
        (hooks.prove)(&checked.resolved)?;
        Ok(checked.resolved)
    }
}

fn resolve_untyped(layers: &[&Value], texts: &[SetText]) -> Result<Value, ValueError> {
    let mut table = Value::object();
    for layer in layers.iter().filter(|layer| !layer.is_null()) {
        merge(&mut table, layer);
    }
    for (path, text) in texts {
        set_untyped(&mut table, path, text)?;
    }
    refuse_non_finite(&table)?;
    Ok(table)
}

fn refuse_non_finite(table: &Value) -> Result<(), ValueError> {
    for place in table.leaves() {
        if let Some(x) = table.at(&place).and_then(Value::as_f64).filter(|x| !x.is_finite()) {
            let word = non_finite_word(x);
            let message = format!("{word} is not accepted, a finite number is needed");
            return Err(ValueError::at(place, message));
        }
    }
    Ok(())
}

fn asks_nothing(overrides: &Value) -> bool {
    match overrides {
        Value::Null => true,
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

struct Resolver {
    hooks: Hooks,
    defaults: Snapshot,
}

impl Resolver {
    /// Lays one more table on the overrides so far.
    fn overlay(&self, overrides: &mut Value, layer: &Value) {
        if asks_nothing(layer) {
            return;
        }
        if asks_nothing(overrides) {
            *overrides = layer.clone();
            return;
        }
        let variants = self.attempt(overrides).map(|checked| checked.variants).unwrap_or_default();
        merge_variants(overrides, layer, &variants, &mut Vec::new());
    }

    /// Reads the overrides laid on the defaults; where that fails, the overrides alone.
    fn attempt(&self, overrides: &Value) -> Result<Checked, ValueError> {
        if asks_nothing(overrides) {
            return (self.hooks.read)(&self.defaults.value);
        }
        let mut merged = self.defaults.value.clone();
        merge_variants(&mut merged, overrides, &self.defaults.variants, &mut Vec::new());
        let error = loop {
            match (self.hooks.read)(&merged) {
                Ok(checked) => return Ok(checked),
                Err(error) if drop_default(&mut merged, overrides, &error) => {}
                Err(error) => break error,
            }
        };
        (self.hooks.read)(overrides).map_err(|_| error)
    }

    /// The fault of a configuration that cannot be read.
    fn blame(&self, overrides: &Value, error: ValueError) -> ValueError {
        if !asks_nothing(overrides) {
            return error;
        }
        let type_name = (self.hooks.type_name)();
        let message = format!("{} (in the defaults of `{type_name}`)", error.message());
        ValueError::at(error.steps().to_vec(), message)
    }

    /// A key that the type does not know is an error where it was asked for.
    fn refuse_ignored(&self, overrides: &Value, checked: &Checked) -> Result<(), ValueError> {
        match checked.ignored.iter().find(|place| overrides.at(place).is_some()) {
            Some(place) => Err(self.unknown(place, &checked.resolved)),
            None => Ok(()),
        }
    }

    fn unknown(&self, place: &[PathStep], resolved: &Value) -> ValueError {
        let (key, parent) = match place.split_last() {
            Some((PathStep::Key(key), parent)) => (key.as_str(), parent),
            _ => ("", place),
        };
        let mut accepted: Vec<&String> = [&self.defaults.value, resolved]
            .into_iter()
            .filter_map(|value| value.at(parent)?.as_object())
            .flat_map(|entries| entries.keys())
            .collect();
        accepted.sort();
        accepted.dedup();
        let message = if accepted.iter().any(|known| *known == key) {
            format!("`{key}` cannot be set, its type does not read it")
        } else {
            format!("unknown key `{key}`{}", hint(key, &accepted))
        };
        ValueError::at(parent.to_vec(), message)
    }

    /// A key that the type reads without a trace could not be part of the run's identity.
    fn refuse_untraced(&self, overrides: &Value, checked: &Checked) -> Result<(), ValueError> {
        for place in overrides.leaves() {
            if !self.is_traced(overrides, &place, &checked.resolved) {
                return Err(self.untraced(&place, &checked.resolved));
            }
        }
        Ok(())
    }

    fn untraced(&self, place: &[PathStep], resolved: &Value) -> ValueError {
        let known = |value: &Value| value.at(place).is_some();
        if !known(&self.defaults.value) && !known(resolved) {
            let fault = self.unknown(place, resolved);
            let message = format!(
                "{}; it is read without a trace, so it could not count for the run's identity",
                fault.message()
            );
            return ValueError::at(fault.steps().to_vec(), message);
        }
        ValueError::at(
            place.to_vec(),
            "has no effect on the configuration, so it could not count for the run's identity",
        )
    }

    /// Whether the override at `place` shows in what was resolved.
    fn is_traced(&self, overrides: &Value, place: &[PathStep], resolved: &Value) -> bool {
        let Some(asked) = overrides.at(place) else { return true };
        let shown = resolved.at(place);
        if shown.is_some_and(|shown| differences(asked, shown).is_empty()) {
            return true;
        }
        if shown.is_some() && asks_nothing(asked) && !asked.is_null() {
            return true;
        }
        let changes = |other: &Value| match self.attempt(other) {
            Ok(checked) => !differences(&checked.resolved, resolved).is_empty(),
            // What refuses another value reads this one; whether it keeps it must be seen.
            Err(_) => shown.is_some(),
        };
        let mut without = overrides.clone();
        without.remove_at(place);
        changes(&without)
            || others(asked).into_iter().any(|other| {
                let mut varied = overrides.clone();
                if let Some(value) = varied.at_mut(place) {
                    *value = other;
                }
                changes(&varied)
            })
    }
}

/// Values that a type which reads `value` would tell from it.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(truth) => vec![(!truth).into()],
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) => vec![n.wrapping_add(1).into(), (n / 2).into()],
            (None, Some(n)) => vec![n.wrapping_sub(1).into(), (n / 2).into()],
            _ => vec![(number.as_f64() + 1.0).into(), (number.as_f64() / 2.0).into()],
        },
        Value::String(text) => vec![format!("{text}x").into(), "".into()],
        _ => vec![1_u8.into(), "x".into(), true.into(), 1.5.into(), vec![1_u8].into()],
    }
}

/// Drops a key of the defaults that conflicts with an override: the field's own name beside an
/// alias, another variant's field beside its tag.
fn drop_default(merged: &mut Value, overrides: &Value, error: &ValueError) -> bool {
    let key = match error.key_fault() {
        Some(KeyFault::Unknown(key)) => key.as_str(),
        Some(KeyFault::Duplicate(field)) => field,
        Some(KeyFault::Missing) | None => return false,
    };
    match overrides.at(error.steps()).and_then(Value::as_object) {
        Some(asked) if !asked.contains_key(key) => {
            let mut place = error.steps().to_vec();
            place.push(PathStep::Key(key.to_owned()));
            merged.remove_at(&place).is_some()
        }
        _ => false,
    }
}

/// Texts that become values, over the tables.
struct Words<'r> {
    resolver: &'r Resolver,
    tables: Value,
    texts: &'r [SetText],
}

/// Why a meaning of a text does not fit, the least telling reason first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Misfit {
    /// The fault lies elsewhere.
    Elsewhere,
    /// The text is not of its type.
    Type,
    /// Its key is not known, or has no effect.
    Key,
}

/// More combinations of meanings than this are not tried.
const MOST_COMBINATIONS: usize = 512;

impl Words<'_> {
    /// The overrides with every text read as what its place is declared to be.
    fn read(&self) -> Result<Value, ValueError> {
        let meanings: Vec<Vec<Value>> = self.texts.iter().map(|text| self.meanings(text)).collect();
        let mut chosen: Vec<Option<Value>> = vec![None; self.texts.len()];
        // One text may only fit once another has chosen the variant it belongs to.
        while let Some(progress) = self.choose_one(&meanings, &chosen) {
            chosen[progress.0] = Some(progress.1);
        }
        let pending: Vec<usize> = (0..chosen.len()).filter(|i| chosen[*i].is_none()).collect();
        if pending.is_empty() || self.choose_together(&meanings, &pending, &mut chosen) {
            return Ok(self.overrides(&chosen));
        }
        Err(self.fault(&meanings, &pending, &chosen))
    }

    fn meanings(&self, (path, text): &SetText) -> Vec<Value> {
        let place = key_steps(path);
        candidates(text, self.resolver.defaults.value.at(&place))
    }

    fn choose_one(
        &self,
        meanings: &[Vec<Value>],
        chosen: &[Option<Value>],
    ) -> Option<(usize, Value)> {
        (0..chosen.len()).filter(|index| chosen[*index].is_none()).find_map(|index| {
            let mut trial = chosen.to_vec();
            meanings[index].iter().find_map(|meaning| {
                trial[index] = Some(meaning.clone());
                self.try_text(index, &trial).is_ok().then(|| (index, meaning.clone()))
            })
        })
    }

    /// Tries all combinations of the pending texts' meanings: a variant may need several fields.
    fn choose_together(
        &self,
        meanings: &[Vec<Value>],
        pending: &[usize],
        chosen: &mut [Option<Value>],
    ) -> bool {
        let sizes = pending.iter().map(|index| meanings[*index].len());
        let combinations = sizes.fold(1_usize, usize::saturating_mul).min(MOST_COMBINATIONS);
        let mut trial = chosen.to_vec();
        for combination in 0..combinations {
            let mut rest = combination;
            for index in pending {
                let options = &meanings[*index];
                trial[*index] = Some(options[rest % options.len()].clone());
                rest /= options.len();
            }
            if pending.iter().all(|index| self.try_text(*index, &trial).is_ok()) {
                chosen.clone_from_slice(&trial);
                return true;
            }
        }
        false
    }

    fn overrides(&self, chosen: &[Option<Value>]) -> Value {
        let mut overrides = self.tables.clone();
        for ((path, _), value) in self.texts.iter().zip(chosen) {
            if let Some(value) = value {
                self.resolver.overlay(&mut overrides, &nest(path, value.clone()));
            }
        }
        overrides
    }

    /// Whether the chosen meaning of one text fits; else why not.
    fn try_text(&self, index: usize, chosen: &[Option<Value>]) -> Result<(), (Misfit, ValueError)> {
        let (path, text) = &self.texts[index];
        let place = key_steps(path);
        let overrides = self.overrides(chosen);
        let resolver = self.resolver;
        let checked =
            resolver.attempt(&overrides).map_err(|error| misfit_of(error, text, &place))?;
        let related = |other: &&Vec<PathStep>| is_related(other, &place);
        if let Some(unknown) = checked.ignored.iter().find(related)
            && overrides.at(unknown).is_some()
        {
            return Err((Misfit::Key, resolver.unknown(unknown, &checked.resolved)));
        }
        let mut leaves = overrides.leaves().into_iter().filter(|leaf| leaf.starts_with(&place));
        match leaves.find(|leaf| !resolver.is_traced(&overrides, leaf, &checked.resolved)) {
            Some(leaf) => Err((Misfit::Key, resolver.untraced(&leaf, &checked.resolved))),
            None => Ok(()),
        }
    }

    /// The most telling fault of the texts that fit nowhere.
    fn fault(
        &self,
        meanings: &[Vec<Value>],
        pending: &[usize],
        chosen: &[Option<Value>],
    ) -> ValueError {
        let mut worst: Option<(Misfit, ValueError)> = None;
        for index in pending {
            let mut trial = chosen.to_vec();
            // An error about a number or an array says more than one about a string.
            let tells = |meaning: &&Value| {
                matches!(meaning, Value::Number(_) | Value::Array(_) | Value::Object(_))
            };
            let shown = meanings[*index].iter().find(tells).or(meanings[*index].last());
            trial[*index] = shown.cloned();
            if let Err((kind, fault)) = self.try_text(*index, &trial)
                && worst.as_ref().is_none_or(|(known, _)| kind > *known)
            {
                worst = Some((kind, fault));
            }
        }
        worst.map_or_else(
            || ValueError::at(key_steps(&self.texts[pending[0]].0), "does not fit"),
            |(_, fault)| fault,
        )
    }
}

/// The fault of a meaning that the type does not read.
fn misfit_of(error: ValueError, text: &str, place: &[PathStep]) -> (Misfit, ValueError) {
    if let Some(KeyFault::Unknown(key)) = error.key_fault() {
        let mut unknown = error.steps().to_vec();
        unknown.push(PathStep::Key(key.clone()));
        if is_related(&unknown, place) {
            return (Misfit::Key, error);
        }
    } else if error.key_fault().is_none() && is_related(error.steps(), place) {
        let at = if error.steps().starts_with(place) { error.steps() } else { place };
        let message = format!("`{text}` does not fit: {}", error.message());
        return (Misfit::Type, ValueError::at(at.to_vec(), message));
    }
    (Misfit::Elsewhere, error)
}

/// Whether one place lies on the way to the other.
fn is_related(a: &[PathStep], b: &[PathStep]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
