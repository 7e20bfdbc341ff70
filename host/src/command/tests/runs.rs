//! What a line may run that is started without a question.

use std::fs;

use proptest::prelude::*;

use super::machine::Machine;
use crate::command::Line;

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever makes a file that a line runs decides as much about it as whoever changes one.
    #[test]
    fn a_file_counts_before_it_is_there(
        program in prop::sample::select(&["sh {}", "python3 -m {}", "node {}", "perl -I. -M{}", "env -C sub sh {}", "make -f{}", "unknown --x={}"][..]),
        naming in prop::sample::select(&["{file}", "./{file}", "'{file}'", "~/project/{file}", "{stem}", "{module}", "other"][..]),
        stem in prop::sample::select(&["new", "sub/new", "deep/er/new", "deep/__main__", "sub/index"][..]),
        ending in prop::sample::select(&["py", "sh", "js"][..]),
    ) {
        let machine = Machine::new();
        let file = format!("{stem}.{ending}");
        let named = naming.replace("{file}", &file).replace("{stem}", stem).replace("{module}", &stem.replace('/', "."));
        let line = Line::in_project(program.replace("{}", &named));
        let path = machine.root().join("project").join(&file);
        let before = line.may_run(&path, &machine.permissions);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let after = line.may_run(&path, &machine.permissions);
        prop_assert_eq!(before, after, "{:?}: {}", line, file);
        if naming.contains("{file}") {
            prop_assert!(after, "{:?}: {}", line, file);
        }
        if naming == "other" && !stem.contains("index") {
            prop_assert!(!after, "{:?}: {}", line, file);
        }
    }
}
