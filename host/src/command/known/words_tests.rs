//! What may stand behind `make`, and behind `python3 -m`.

use super::tests::of;
use super::{Known, targets};

#[test]
fn targets_of_make_may_stand_among_harmless_options() {
    for (line, targets) in [
        ("make test", "test"),
        ("make -j4 test", "test"),
        ("make -j 4 test", "test"),
        ("make -j test", "test"),
        ("make -sj4 test", "test"),
        ("make -s -k test -j2", "test"),
        ("make -ks test", "test"),
        ("make --no-print-directory --jobs=4 test", "test"),
        ("make --keep-going -w -n -q -B test", "test"),
        ("make --silent --quiet --always-make --dry-run test", "test"),
        ("make test lint", "test lint"),
        ("make lint -s test", "lint test"),
        ("make -j 4 4", "4"),
    ] {
        let targets = targets.split(' ').map(str::to_owned).collect();
        assert_eq!(of(line), Known::Words(targets), "{line}");
    }
    for line in [
        "make",
        "make -j4",
        "make -j 4",
        "make -s",
        "make -f x test",
        "make -fx test",
        "make -C src test",
        "make -Csrc test",
        "make --directory=src test",
        "make -I src test",
        "make -e test",
        "make -sf x test",
        "make --file=x test",
        "make --file x test",
        "make --fil=x test",
        "make --makefile=x test",
        "make --include-dir=src test",
        "make --environment-overrides test",
        "make --eval=x test",
        "make --eval x test",
        "make -E x test",
        "make -W src/x test",
        "make --what-if=x test",
        "make -o x test",
        "make --assume-old=x test",
        "make -O test",
        "make --output-sync=target test",
        "make -l 2 test",
        "make -r -R test",
        "make -t test",
        "make -p test",
        "make -d test",
        "make --debug=v test",
        "make --trace test",
        "make --no-print-directory=x test",
        "make --no-print-dir test",
        "make --jobs=x test",
        "make --jobs=4f test",
        "make --silent=x test",
        "make CC=./evil test",
        "make -s CC=./evil test",
        "make test SHELL=./evil",
        "make test MAKEFLAGS+=x",
        "make test MAKEFLAGS:=x",
        "make test X::=x",
        "make test X?=x",
        "make test X!=x",
        "make test src/x",
        "make ../x",
        "make @x",
        "make test -",
        "make -- test",
        "make test -- CC=x",
        "make -j ./evil test",
        "make -j4x test",
        "make -j4f x test",
        "make -jf x test",
        "make -4f x test",
        "make test $x",
        "make test *",
    ] {
        assert_eq!(of(line), Known::Nothing, "{line}");
    }
}

#[test]
fn words_that_may_be_targets_are_found() {
    let of = |name: &str, line: &str| {
        let words: Vec<_> = line.split(' ').map(|word| Some(word.to_owned())).collect();
        targets(name, &words).join(" ")
    };
    assert_eq!(of("make", "-f x -j4 test A=b lint"), "x test lint");
    assert_eq!(of("cargo", "test"), "");
}

/// No option of Python, no other module, and no other folder.
#[test]
fn tests_of_python_are_looked_for_where_it_runs() {
    for (line, words) in [
        ("python3 -m unittest", "-m unittest"),
        ("python3 -m unittest -v -k any.text", "-m unittest"),
        ("python3 -m unittest tests/a.py a.py", "-m unittest"),
        ("python3 -m unittest discover", "-m unittest discover"),
        (
            "python -m unittest discover -v -k any.text --failfast",
            "-m unittest discover",
        ),
        ("python3 -m pytest -x tests/a.py::name", "-m pytest"),
    ] {
        let words = words.split(' ').map(str::to_owned).collect();
        assert_eq!(of(line), Known::Words(words), "{line}");
    }
    for line in [
        "python3 -m unittest discover tests",
        "python3 -m unittest discover -s tests",
        "python3 -m unittest discover -stests",
        "python3 -m unittest discover -vs tests",
        "python3 -m unittest discover --start-directory=tests",
        "python3 -m unittest discover --start tests",
        "python3 -m unittest discover -t ..",
        "python3 -m unittest discover -p x*.py",
        "python3 -m unittest discover -- tests",
        "python3 -m unittest discover a.py",
        "python3 -m unittest discover -",
        "python3 -m unittest discover @x",
        "python3 -m unittest discover -k @x",
        "python3 -m unittest -v discover",
        "python3 -m unittest Discover",
        "python3 -m unittest.main",
        "python3 -X importtime -m unittest",
        "python3 -W x -m unittest",
        "python3 -c x -m unittest",
        "python3 -I -m unittest",
        "python3 -O -m pytest",
        "python3 -mpytest",
        "python3 -m pytest -p x",
        "python3 -m pytest -c x",
        "python3 -m pytest --rootdir=..",
        "python3 -m pytest -o x=y",
        "python3 -m pytest --pyargs x",
        "python3 -m mypy src",
        "python3 -m src.x",
        "python3 -m ./x",
    ] {
        assert_eq!(of(line), Known::Nothing, "{line}");
    }
}
