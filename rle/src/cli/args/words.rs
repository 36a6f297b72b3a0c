//! The one pass over the words of a command line before clap reads them.
//!
//! `key=value` becomes `--key=value`, an option's value is joined to it, options are moved behind
//! the command, and the default command is named. What is wrong is left for clap to refuse.

use super::command::{CommandKind, CommandSpec, Grammar, setting_of};
use crate::suite::config::settings::Kind;

/// A command line in the order that clap reads.
pub(super) struct Arranged {
    pub(super) words: Vec<String>,
    /// The command and the group it belongs to, as far as the words name them.
    pub(super) path: Vec<&'static CommandSpec>,
    /// Whether the help is asked for, or an option is given that only an algorithm may declare.
    pub(super) needs_flags: bool,
}

/// Arranges the words behind the program's name.
pub(super) fn arrange(words: &[String], grammar: &Grammar<'_>) -> Arranged {
    let mut pass = Pass { grammar, bare: Vec::new(), options: Vec::new(), needs_flags: false };
    let (mut help, mut version) = (false, false);
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        help |= word == "--help" || word == "-h";
        version |= word == "--version" || word == "-V";
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            pass.option(long, &mut words);
        } else if word.starts_with('-') {
            pass.options.push(word.clone());
        } else if let Some((key, value)) = word.split_once('=') {
            pass.assignment(word, key, value);
        } else {
            pass.bare.push(word.clone());
        }
    }
    let Pass { mut bare, mut options, needs_flags, .. } = pass;
    let mut path = named_commands(&bare, grammar.commands);
    if version {
        (bare, options) = (Vec::new(), vec!["--version".to_owned()]);
    } else if path.len() == bare.len() {
        let default = match path.last().map(|spec| &spec.kind) {
            None => grammar.default,
            Some(CommandKind::Group(commands)) => commands.first(),
            Some(CommandKind::Command(_)) => None,
        };
        if help && !path.last().is_some_and(|spec| spec.is_command()) {
            options = vec!["--help".to_owned()];
        } else if let Some(default) = default {
            bare.push(default.name.to_owned());
            path.push(default);
        }
    }
    bare.append(&mut options);
    Arranged { words: bare, path, needs_flags: needs_flags || help }
}

struct Pass<'a> {
    grammar: &'a Grammar<'a>,
    /// Words that are neither options nor their values.
    bare: Vec<String>,
    options: Vec<String>,
    needs_flags: bool,
}

impl Pass<'_> {
    /// Takes `--long` or `--long=value`, with the next word where that is its value.
    fn option<'w>(
        &mut self,
        long: &str,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'w String>>,
    ) {
        let (name, has_value) =
            long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let kind = self.kind(name);
        let value = match kind {
            _ if has_value => None,
            Some(Kind::Switch) => None,
            Some(Kind::Bool) => words.next_if(|next| !next.starts_with('-') && !next.contains('=')),
            Some(Kind::Value | Kind::Repeated) => words.next_if(|next| !next.starts_with("--")),
            // Probably its value; it must not be refused as a command first.
            None => words.next_if(|next| {
                !next.starts_with('-')
                    && !next.contains('=')
                    && !self.grammar.commands.iter().any(|spec| spec.name == *next)
            }),
        };
        self.options.push(match (value, kind) {
            (Some(value), _) => format!("--{long}={value}"),
            (None, Some(Kind::Bool)) if !has_value => format!("--{long}=true"),
            _ => format!("--{long}"),
        });
    }

    fn assignment(&mut self, word: &str, key: &str, value: &str) {
        if key.contains('.') {
            self.options.push(format!("--set={word}"));
            return;
        }
        let long = key.replace('_', "-");
        self.kind(&long);
        self.options.push(format!("--{long}={value}"));
    }

    /// How the option takes its value; none for one that is not known.
    fn kind(&mut self, long: &str) -> Option<Kind> {
        if let Some(setting) = setting_of(long) {
            return Some(setting.kind);
        }
        self.needs_flags = true;
        self.grammar.is_flag(long).then_some(Kind::Bool)
    }
}

/// The commands that the first words name, outermost first.
fn named_commands(
    words: &[String],
    mut commands: &'static [CommandSpec],
) -> Vec<&'static CommandSpec> {
    let mut path = Vec::new();
    for word in words {
        let Some(spec) = commands.iter().find(|spec| spec.name == word) else { break };
        path.push(spec);
        match spec.kind {
            CommandKind::Group(parts) => commands = parts,
            CommandKind::Command(_) => break,
        }
    }
    path
}
