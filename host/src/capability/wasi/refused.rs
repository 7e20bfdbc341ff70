//! What no component gets: sockets. Whoever links the standard library of some language imports them all the same,
//! so they are there, and each way to use one answers that it is denied.
//!
//! A program that wants to speak to the world has `dunlin:tool/web` and `wasi:http`, where addresses can be asked about.

use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};
use wasmtime::component::{
    Component, Linker, LinkerInstance, Resource, ResourceAny, ResourceType, Val,
};
use wasmtime::{Engine, StoreContextMut};

/// The package that is refused.
const SOCKETS: &str = "wasi:sockets/";

/// Resources in its interfaces that belong to `wasi:io`, which is there.
const OTHERS: [&str; 4] = ["error", "input-stream", "output-stream", "pollable"];

/// How the package says no.
const DENIED: &str = "access-denied";

/// A socket, a network. There is nothing behind it.
struct Nothing;

/// The one function that cannot say no hands out a network that leads nowhere.
const INSTANCE_NETWORK: &str = "instance-network";

/// A way to the network that has no word for no.
#[derive(Debug, thiserror::Error)]
#[error("called {0}; tools reach the web through dunlin:tool/web or wasi:http alone")]
struct NotThere(String);

/// Defines what the component imports of the package.
pub(super) fn link<T: Send + 'static>(
    linker: &mut Linker<T>,
    engine: &Engine,
    component: &Component,
) -> wasmtime::Result<()> {
    let ty = component.component_type();
    for (name, item) in ty.imports(engine) {
        let ComponentItem::ComponentInstance(instance) = item.ty else {
            continue;
        };
        if !name.starts_with(SOCKETS) {
            continue;
        }
        let mut here = linker.instance(name)?;
        for (export, item) in instance.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(function) => refuse(&mut here, export, &function)?,
                ComponentItem::Resource(_) if !OTHERS.contains(&export) => {
                    let ty = ResourceType::host::<Nothing>();
                    here.resource(export, ty, |_, _| Ok(()))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The word for no that a function has.
fn denial(function: &ComponentFunc) -> Option<Val> {
    let Some(Type::Result(result)) = function.results().next() else {
        return None;
    };
    match result.err()? {
        Type::Enum(codes) if codes.names().any(|name| name == DENIED) => {
            Some(Val::Enum(DENIED.to_owned()))
        }
        _ => None,
    }
}

fn refuse<T: Send + 'static>(
    here: &mut LinkerInstance<'_, T>,
    name: &str,
    function: &ComponentFunc,
) -> wasmtime::Result<()> {
    if name == INSTANCE_NETWORK {
        return here.func_new(name, nowhere);
    }
    let denial = denial(function);
    let called = name.to_owned();
    here.func_new_async(name, move |mut store, _, parameters, results| {
        let (called, denial) = (called.clone(), denial.clone());
        Box::new(async move {
            // What was lent has to be given back.
            for parameter in parameters {
                if let Val::Resource(lent) = parameter {
                    lent.resource_drop_async(&mut store).await?;
                }
            }
            match (results, denial) {
                ([result], Some(denial)) => {
                    *result = Val::Result(Err(Some(Box::new(denial))));
                    Ok(())
                }
                _ => Err(NotThere(called).into()),
            }
        })
    })
}

fn nowhere<T: Send + 'static>(
    store: StoreContextMut<'_, T>,
    _: ComponentFunc,
    _: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let network = Resource::<Nothing>::new_own(0);
    if let [result] = results {
        *result = Val::Resource(ResourceAny::try_from_resource(network, store)?);
    }
    Ok(())
}
