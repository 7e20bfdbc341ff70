//! Was made for contract 9.9.9, and says so where every component says it: in the name of what it exports. It must be refused
//! by name, and both versions be named.

#![allow(unsafe_code, reason = "what wit-bindgen generates exports functions")]

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package dunlin:tool@9.9.9;

            interface tool {
                describe: func() -> string;
            }

            world plugin {
                export tool;
            }
        ",
    });
}

struct BadContract;

impl bindings::exports::dunlin::tool::tool::Guest for BadContract {
    fn describe() -> String {
        "Comes from the future.".to_owned()
    }
}

bindings::export!(BadContract with_types_in bindings);
